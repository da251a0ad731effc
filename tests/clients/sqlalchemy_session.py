"""A session of SQLAlchemy 2: create, reflect, an ORM round trip."""

import datetime
import os
from decimal import Decimal

from sqlalchemy import Date, ForeignKey, MetaData, Numeric, String, create_engine, inspect, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship


class Base(DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "author"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(40), unique=True)
    born: Mapped[datetime.date | None] = mapped_column(Date)
    books: Mapped[list["Book"]] = relationship(back_populates="author", cascade="all, delete-orphan")


class Book(Base):
    __tablename__ = "book"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(index=True)
    price: Mapped[Decimal] = mapped_column(Numeric(8, 2))
    author_id: Mapped[int] = mapped_column(ForeignKey("author.id"))
    author: Mapped[Author] = relationship(back_populates="books")


url = f"postgresql+psycopg://nacre@{os.environ['PGHOST']}:{os.environ['PGPORT']}/nacre"
engine = create_engine(url)
Base.metadata.drop_all(engine)
Base.metadata.create_all(engine)
Base.metadata.create_all(engine)
with Session(engine) as session:
    author = Author(name="Ursula", born=datetime.date(1929, 10, 21))
    author.books = [
        Book(title="The Dispossessed", price=Decimal("9.50")),
        Book(title="Tehanu", price=Decimal("8.25")),
    ]
    session.add(author)
    session.commit()
    assert author.id == 1 and sorted(book.id for book in author.books) == [1, 2]
with Session(engine) as session:
    found = session.scalars(select(Book).where(Book.price < 9).order_by(Book.id)).one()
    assert found.title == "Tehanu" and found.author.name == "Ursula"
    found.price = Decimal("10.00")
    session.delete(session.scalars(select(Book).where(Book.title.like("The %"))).one())
    session.commit()
    assert session.scalars(select(Book.price)).all() == [Decimal("10.00")]

reflected = MetaData()
reflected.reflect(engine)
assert sorted(reflected.tables) == ["author", "book"], reflected.tables
book = reflected.tables["book"]
assert [column.name for column in book.columns] == ["id", "title", "price", "author_id"]
assert str(book.c.price.type) == "NUMERIC(8, 2)" and not book.c.price.nullable
assert [key.target_fullname for key in book.foreign_keys] == ["author.id"]
inspector = inspect(engine)
assert inspector.get_pk_constraint("author")["constrained_columns"] == ["id"]
assert [index["column_names"] for index in inspector.get_indexes("book")] == [["title"]]
assert [one["column_names"] for one in inspector.get_unique_constraints("author")] == [["name"]]
assert inspector.get_view_names() == []
assert inspector.has_table("book") and not inspector.has_table("nothing")
Base.metadata.drop_all(engine)
