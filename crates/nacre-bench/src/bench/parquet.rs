//! DataFusion over Parquet files of the same data: the baseline of `nacre bench tpch`.
//!
//! Each partition of a CSV file becomes one Parquet file, so that rows keep their order. Written by
//! the crate `parquet` with zstd at level 3, which is what DataFusion itself writes by default.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::context::SessionContext;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::errors::ParquetError;
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::physical_plan::execute_stream_partitioned;
use datafusion::prelude::{ParquetReadOptions, SessionConfig};
use futures::TryStreamExt;

use crate::error::{Error, Result};
use crate::workload::{CsvFile, csv_context};

/// DataFusion over Parquet files.
pub(super) struct Baseline {
    pub(super) context: SessionContext,
    /// Time to write the Parquet files from the CSV files, by table in the order of the files.
    pub(super) load_times: Vec<Duration>,
}

/// Writes the Parquet files and opens them.
pub(super) async fn load(files: &[CsvFile], directory: &Path, threads: usize) -> Result<Baseline> {
    let csv = csv_context(files, threads).await?;
    let config = SessionConfig::new()
        .with_target_partitions(threads)
        .set_bool("datafusion.sql_parser.parse_float_as_decimal", true);
    let context = SessionContext::new_with_config(config);
    let mut load_times = Vec::new();
    for file in files {
        let name = file.table.name;
        let target = directory.join(name);
        std::fs::create_dir_all(&target).map_err(Error::io("create directory", &target))?;
        let start = Instant::now();
        convert(&csv, name, &target)
            .await
            .map_err(Error::datafusion(format_args!("write {name} as Parquet")))?;
        load_times.push(start.elapsed());
        context
            .register_parquet(name, target.to_string_lossy(), ParquetReadOptions::default())
            .await
            .map_err(Error::datafusion(format_args!("open {name} as Parquet")))?;
    }
    Ok(Baseline { context, load_times })
}

async fn convert(
    csv: &SessionContext,
    table: &str,
    target: &Path,
) -> datafusion::error::Result<()> {
    let plan = csv.table(table).await?.create_physical_plan().await?;
    let schema = plan.schema();
    let mut writers = tokio::task::JoinSet::new();
    for (index, stream) in execute_stream_partitioned(plan, csv.task_ctx())?.into_iter().enumerate()
    {
        let path = target.join(format!("part-{index}.parquet"));
        writers.spawn(write(stream, Arc::clone(&schema), path));
    }
    while let Some(written) = writers.join_next().await {
        written.map_err(|error| datafusion::error::DataFusionError::External(error.into()))??;
    }
    Ok(())
}

async fn write(
    mut stream: SendableRecordBatchStream,
    schema: SchemaRef,
    path: PathBuf,
) -> datafusion::error::Result<()> {
    let level = ZstdLevel::try_new(3)?;
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
    let file = File::create(path)?;
    let mut writer = ArrowWriter::try_new(file, schema, Some(properties))?;
    while let Some(batch) = stream.try_next().await? {
        writer.write(&batch)?;
    }
    let file = writer.into_inner()?;
    // Nacre's load ends when the rows are durable; so does this one.
    file.sync_all().map_err(ParquetError::from)?;
    Ok(())
}
