-- A session of psql: each \if stops the script if an answer is wrong.
\set ECHO errors
drop table if exists shell;
create table shell (id integer primary key, name text not null, price numeric(9,2), found date);
insert into shell values (1, 'nautilus', 30.00, '2026-01-02'), (2, 'abalone', null, null);
select count(*) = 2 as ok from shell \gset
\if :ok
\else
    select 1 / 0;
\endif
begin isolation level serializable;
update shell set price = price + 1 where id = 1;
savepoint s;
delete from shell;
rollback to s;
commit;
select price = 31 as ok from shell where id = 1 \gset
\if :ok
\else
    select 1 / 0;
\endif
\copy shell (id, name) from program 'printf "3\ttrochus\n4\twhelk\n"'
\copy (select name from shell order by id) to '/dev/null'
prepare by_id (integer) as select name from shell where id = $1;
execute by_id (4);
declare all_shells cursor with hold for select name from shell order by id;
fetch 2 from all_shells;
close all_shells;
show server_version;
set application_name = 'a session';
select current_setting('application_name') = 'a session' as ok \gset
\if :ok
\else
    select 1 / 0;
\endif
explain select * from shell where id = 1;
drop table shell;
