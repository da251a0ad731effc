-- TPC-C for PostgreSQL: its tables as in oltp/tpcc/schema.rs, and the five transactions as functions.
-- Source: TPC Benchmark C, revision 5.11, clauses 1.3 and 2.4 to 2.8.

CREATE TABLE warehouse (
    w_id smallint NOT NULL, w_name varchar(10) NOT NULL,
    w_street_1 varchar(20) NOT NULL, w_street_2 varchar(20) NOT NULL, w_city varchar(20) NOT NULL,
    w_state char(2) NOT NULL, w_zip char(9) NOT NULL,
    w_tax numeric(4, 4) NOT NULL, w_ytd numeric(12, 2) NOT NULL);
CREATE TABLE district (
    d_w_id smallint NOT NULL, d_id smallint NOT NULL, d_name varchar(10) NOT NULL,
    d_street_1 varchar(20) NOT NULL, d_street_2 varchar(20) NOT NULL, d_city varchar(20) NOT NULL,
    d_state char(2) NOT NULL, d_zip char(9) NOT NULL,
    d_tax numeric(4, 4) NOT NULL, d_ytd numeric(12, 2) NOT NULL, d_next_o_id integer NOT NULL);
CREATE TABLE customer (
    c_w_id smallint NOT NULL, c_d_id smallint NOT NULL, c_id integer NOT NULL,
    c_first varchar(16) NOT NULL, c_middle char(2) NOT NULL, c_last varchar(16) NOT NULL,
    c_street_1 varchar(20) NOT NULL, c_street_2 varchar(20) NOT NULL, c_city varchar(20) NOT NULL,
    c_state char(2) NOT NULL, c_zip char(9) NOT NULL, c_phone char(16) NOT NULL,
    c_since timestamp NOT NULL, c_credit char(2) NOT NULL, c_credit_lim numeric(12, 2) NOT NULL,
    c_discount numeric(4, 4) NOT NULL, c_balance numeric(12, 2) NOT NULL,
    c_ytd_payment numeric(12, 2) NOT NULL, c_payment_cnt smallint NOT NULL,
    c_delivery_cnt smallint NOT NULL, c_data varchar(500) NOT NULL);
CREATE TABLE history (
    h_c_id integer NOT NULL, h_c_d_id smallint NOT NULL, h_c_w_id smallint NOT NULL,
    h_d_id smallint NOT NULL, h_w_id smallint NOT NULL, h_date timestamp NOT NULL,
    h_amount numeric(12, 2) NOT NULL, h_data varchar(24) NOT NULL);
CREATE TABLE new_order (
    no_w_id smallint NOT NULL, no_d_id smallint NOT NULL, no_o_id integer NOT NULL);
CREATE TABLE orders (
    o_w_id smallint NOT NULL, o_d_id smallint NOT NULL, o_id integer NOT NULL,
    o_c_id integer NOT NULL, o_entry_d timestamp NOT NULL, o_carrier_id smallint,
    o_ol_cnt smallint NOT NULL, o_all_local smallint NOT NULL);
CREATE TABLE order_line (
    ol_w_id smallint NOT NULL, ol_d_id smallint NOT NULL, ol_o_id integer NOT NULL,
    ol_number smallint NOT NULL, ol_i_id integer NOT NULL, ol_supply_w_id smallint NOT NULL,
    ol_delivery_d timestamp, ol_quantity smallint NOT NULL, ol_amount numeric(6, 2) NOT NULL,
    ol_dist_info char(24) NOT NULL);
CREATE TABLE item (
    i_id integer NOT NULL, i_im_id integer NOT NULL, i_name varchar(24) NOT NULL,
    i_price numeric(5, 2) NOT NULL, i_data varchar(50) NOT NULL);
CREATE TABLE stock (
    s_w_id smallint NOT NULL, s_i_id integer NOT NULL, s_quantity smallint NOT NULL,
    s_dist_01 char(24) NOT NULL, s_dist_02 char(24) NOT NULL, s_dist_03 char(24) NOT NULL,
    s_dist_04 char(24) NOT NULL, s_dist_05 char(24) NOT NULL, s_dist_06 char(24) NOT NULL,
    s_dist_07 char(24) NOT NULL, s_dist_08 char(24) NOT NULL, s_dist_09 char(24) NOT NULL,
    s_dist_10 char(24) NOT NULL, s_ytd bigint NOT NULL, s_order_cnt integer NOT NULL,
    s_remote_cnt integer NOT NULL, s_data varchar(50) NOT NULL);

-- Called when the tables are filled.
CREATE FUNCTION create_keys() RETURNS void LANGUAGE sql AS $$
    ALTER TABLE warehouse ADD PRIMARY KEY (w_id);
    ALTER TABLE district ADD PRIMARY KEY (d_w_id, d_id);
    ALTER TABLE customer ADD PRIMARY KEY (c_w_id, c_d_id, c_id);
    CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first);
    ALTER TABLE new_order ADD PRIMARY KEY (no_w_id, no_d_id, no_o_id);
    ALTER TABLE orders ADD PRIMARY KEY (o_w_id, o_d_id, o_id);
    CREATE INDEX customer_order ON orders (o_w_id, o_d_id, o_c_id, o_id);
    ALTER TABLE order_line ADD PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number);
    ALTER TABLE item ADD PRIMARY KEY (i_id);
    ALTER TABLE stock ADD PRIMARY KEY (s_w_id, s_i_id);
$$;

-- The number of a customer; of several with the same last name the middle one by first name.
CREATE FUNCTION customer_named(w smallint, d smallint, name text) RETURNS integer
LANGUAGE plpgsql STABLE AS $$
DECLARE ids integer[];
BEGIN
    ids := ARRAY(SELECT c_id FROM customer WHERE c_w_id = w AND c_d_id = d AND c_last = name
                 ORDER BY c_first);
    RETURN ids[(cardinality(ids) + 1) / 2];
END $$;

CREATE FUNCTION new_order(w smallint, d smallint, c integer,
                          items integer[], suppliers smallint[], quantities smallint[])
RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    warehouse_tax numeric; district_tax numeric; discount numeric; name text; credit text;
    o integer; item_row item%ROWTYPE; stock_row stock%ROWTYPE;
    amount numeric; total numeric := 0; count integer := cardinality(items); info text;
BEGIN
    SELECT w_tax INTO warehouse_tax FROM warehouse WHERE w_id = w;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = w AND d_id = d
        RETURNING d_tax, d_next_o_id - 1 INTO district_tax, o;
    SELECT c_discount, c_last, c_credit INTO discount, name, credit
        FROM customer WHERE c_w_id = w AND c_d_id = d AND c_id = c;
    INSERT INTO orders VALUES (w, d, o, c, localtimestamp, NULL, count,
        CASE WHEN w = ALL (suppliers) THEN 1 ELSE 0 END);
    INSERT INTO new_order VALUES (w, d, o);
    FOR number IN 1..count LOOP
        SELECT * INTO item_row FROM item WHERE i_id = items[number];
        IF NOT FOUND THEN
            RAISE EXCEPTION 'item % is not known', items[number] USING ERRCODE = 'no_data_found';
        END IF;
        UPDATE stock SET
            s_quantity = s_quantity - quantities[number]
                + CASE WHEN s_quantity - quantities[number] >= 10 THEN 0 ELSE 91 END,
            s_ytd = s_ytd + quantities[number],
            s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN suppliers[number] = w THEN 0 ELSE 1 END
            WHERE s_w_id = suppliers[number] AND s_i_id = items[number]
            RETURNING * INTO stock_row;
        info := CASE d
            WHEN 1 THEN stock_row.s_dist_01 WHEN 2 THEN stock_row.s_dist_02
            WHEN 3 THEN stock_row.s_dist_03 WHEN 4 THEN stock_row.s_dist_04
            WHEN 5 THEN stock_row.s_dist_05 WHEN 6 THEN stock_row.s_dist_06
            WHEN 7 THEN stock_row.s_dist_07 WHEN 8 THEN stock_row.s_dist_08
            WHEN 9 THEN stock_row.s_dist_09 ELSE stock_row.s_dist_10 END;
        amount := item_row.i_price * quantities[number];
        total := total + amount;
        INSERT INTO order_line VALUES (w, d, o, number, items[number], suppliers[number], NULL,
            quantities[number], amount, info);
    END LOOP;
    RETURN total * (1 + warehouse_tax + district_tax) * (1 - discount);
END $$;

CREATE FUNCTION payment(w smallint, d smallint, cw smallint, cd smallint, id integer, name text,
                        amount numeric)
RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    warehouse_name text; district_name text; credit text; balance numeric;
    c integer := coalesce(id, customer_named(cw, cd, name));
BEGIN
    UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = w RETURNING w_name INTO warehouse_name;
    UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = w AND d_id = d
        RETURNING d_name INTO district_name;
    UPDATE customer SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = CASE WHEN c_credit = 'BC'
            THEN left(format('%s %s %s %s %s %s | ', c, cd, cw, d, w, amount) || c_data, 500)
            ELSE c_data END
        WHERE c_w_id = cw AND c_d_id = cd AND c_id = c
        RETURNING c_balance, c_credit INTO balance, credit;
    INSERT INTO history VALUES (c, cd, cw, d, w, localtimestamp, amount,
        warehouse_name || '    ' || district_name);
    RETURN balance;
END $$;

CREATE FUNCTION order_status(w smallint, d smallint, id integer, name text)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    c integer := coalesce(id, customer_named(w, d, name));
    balance numeric; first text; middle text; last text; o integer; line order_line%ROWTYPE;
    entered timestamp; carrier smallint; lines integer := 0;
BEGIN
    SELECT c_balance, c_first, c_middle, c_last INTO balance, first, middle, last
        FROM customer WHERE c_w_id = w AND c_d_id = d AND c_id = c;
    SELECT o_id, o_entry_d, o_carrier_id INTO o, entered, carrier FROM orders
        WHERE o_w_id = w AND o_d_id = d AND o_c_id = c ORDER BY o_id DESC LIMIT 1;
    FOR line IN SELECT * FROM order_line WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o LOOP
        lines := lines + 1;
    END LOOP;
    RETURN lines;
END $$;

CREATE FUNCTION delivery(w smallint, carrier smallint) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE o integer; c integer; amount numeric; delivered integer := 0;
BEGIN
    FOR d IN 1..10 LOOP
        SELECT no_o_id INTO o FROM new_order WHERE no_w_id = w AND no_d_id = d::smallint
            ORDER BY no_o_id LIMIT 1;
        CONTINUE WHEN NOT FOUND;
        DELETE FROM new_order WHERE no_w_id = w AND no_d_id = d::smallint AND no_o_id = o;
        UPDATE orders SET o_carrier_id = carrier
            WHERE o_w_id = w AND o_d_id = d::smallint AND o_id = o RETURNING o_c_id INTO c;
        WITH lines AS (
            UPDATE order_line SET ol_delivery_d = localtimestamp
                WHERE ol_w_id = w AND ol_d_id = d::smallint AND ol_o_id = o RETURNING ol_amount)
        SELECT sum(ol_amount) INTO amount FROM lines;
        UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = w AND c_d_id = d::smallint AND c_id = c;
        delivered := delivered + 1;
    END LOOP;
    RETURN delivered;
END $$;

CREATE FUNCTION stock_level(w smallint, d smallint, threshold smallint)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE next integer; low bigint;
BEGIN
    SELECT d_next_o_id INTO next FROM district WHERE d_w_id = w AND d_id = d;
    SELECT count(DISTINCT s_i_id) INTO low FROM order_line, stock
        WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id >= next - 20 AND ol_o_id < next
        AND s_w_id = w AND s_i_id = ol_i_id AND s_quantity < threshold;
    RETURN low;
END $$;
