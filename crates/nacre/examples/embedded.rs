//! Uses Nacre as a library: opens a database, loads a CSV file, prints a query's answer.
//!
//! ```sh
//! cargo run --example embedded -- /tmp/shells
//! ```

use nacre::arrow::util::pretty::pretty_format_batches;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let db = match std::env::args_os().nth(1) {
        Some(directory) => nacre::Database::open(directory)?,
        None => nacre::Database::open_in_memory()?,
    };
    db.execute(
        "drop table if exists shell;
         create table shell (
             name text primary key,
             family text not null,
             layers integer,
             width_mm decimal(6, 2)
         );",
    )?;

    let csv = std::env::temp_dir().join(format!("nacre-embedded-{}.csv", std::process::id()));
    std::fs::write(
        &csv,
        "name,family,layers,width_mm\n\
         nautilus,nautilidae,30,210.50\n\
         abalone,haliotidae,12,125.00\n\
         paua,haliotidae,,180.25\n",
    )?;
    let loaded = db.execute(&format!(
        "copy shell from '{}' (format csv, header)",
        csv.display().to_string().replace('\'', "''")
    ));
    std::fs::remove_file(&csv)?;
    println!("{} rows loaded", loaded?);

    let answer = db.query(
        "select family, count(*) as shells, avg(width_mm) as width_mm
         from shell group by family order by family",
    )?;
    println!("{}", pretty_format_batches(&answer)?);
    Ok(())
}
