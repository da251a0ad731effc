"""A session of SQLAlchemy 2: create, reflect, an ORM round trip."""

import datetime
import os
from decimal import Decimal

from sqlalchemy import (
    Column,
    Date,
    ForeignKey,
    Identity,
    Integer,
    MetaData,
    Numeric,
    String,
    Table,
    Text,
    create_engine,
    func,
    inspect,
    select,
)
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

counted = MetaData()
ticket = Table(
    "ticket",
    counted,
    Column("id", Integer, Identity(always=True, start=10, increment=5), primary_key=True),
    Column("note", Text),
)
counted.drop_all(engine)
counted.create_all(engine)
with engine.begin() as connection:
    connection.execute(ticket.insert(), [{"note": "a"}, {"note": "b"}, {"note": "c"}])
    found = connection.execute(select(ticket.c.id).where(ticket.c.note.in_(["a", "c"])).order_by(ticket.c.id))
    assert found.scalars().all() == [10, 20]
    row = connection.execute(select(func.count(), func.max(ticket.c.note), func.max(ticket.c.id))).one()
    assert tuple(row) == (3, "c", 20), row
columns = {column["name"]: column for column in inspect(engine).get_columns("ticket")}
identity = columns["id"]["identity"]
assert identity["always"] and identity["start"] == 10 and identity["increment"] == 5, identity
assert columns["note"].get("identity") is None
mirrored = MetaData()
mirrored.reflect(engine, only=["ticket"])
assert mirrored.tables["ticket"].c.id.identity.start == 10
counted.drop_all(engine)

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
