# SPDX-License-Identifier: MIT
"""Fixtures of the tests of archives: captures, a store that contains them, a Spark session."""

from __future__ import annotations

import gzip
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(SOURCE / "tests/harness"))

import captures

# The store needs no credentials. No settings of the user apply, not even in child processes.
AWS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
}
BUCKET = "traces"
LOOPBACK = "127.0.0.1"

# --- Captures ---


def frame(protocol: int, sums: str, number: int) -> bytes:
    """Returns a frame whose content depends on `number`, so that the bad sums of a flow have no
    common cause."""
    payload = (number * 0x9E3779B97F4A7C15 % (1 << 64)).to_bytes(8, "big")
    return captures.ethernet(captures.packet(protocol, payload, sums=sums))


def pcap(*sums: str, first: int = 1_700_000_000) -> bytes:
    """Returns a capture of one TCP packet per second; `sums` are good, bad, partial or none."""
    records = (
        captures.Record(frame(captures.TCP, each, i), None, first + i, 123_456)
        for i, each in enumerate(sums)
    )
    return captures.pcap(records)


def ticking(*sums: str) -> bytes:
    """Returns a pcapng file of one UDP packet per checksum, at times between microseconds."""
    nanoseconds = captures.option("<", 9, b"\x09") + captures.option("<", 0, b"")
    file = captures.Pcapng().section().interface(options=nanoseconds)
    for number, each in enumerate(sums):
        packet = frame(captures.UDP, each, number)
        file.packet(packet, ticks=1_700_000_000_000_000_999 + number)
    return file.bytes()


# The contents of an archive, with captures of several kinds.
ARCHIVE = {
    "lan/good.pcap": pcap("good", "good"),
    "lan/bad.pcap": pcap("good", "bad", "bad", "bad"),
    "lan/offloaded.pcap": pcap("partial", "good"),
    "wan/ticking.pcapng": ticking("bad", "good"),
    "wan/packed.pcap.gz": gzip.compress(pcap("bad", "good"), mtime=0),
    "wan/damaged.pcap": pcap("good", "bad", "good")[:-7],
    "wan/empty.pcap": pcap(),
}
NO_CAPTURE = {"lan/notes.txt": b"no capture, but beside them\n"}


def write_files(folder: Path, files: dict[str, bytes]) -> list[Path]:
    """Writes files below a folder; returns their paths, sorted."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return sorted(folder / name for name in files)


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder of captures; tests must not change it."""
    folder = tmp_path_factory.mktemp("archive")
    write_files(folder, ARCHIVE)
    return folder


# --- A store ---


@pytest.fixture(scope="session")
def s3() -> Iterator[Any]:
    """Yields a client of an S3 server in this process; s3:// URLs lead to that server."""
    server = pytest.importorskip("moto.server", reason="moto is not installed")
    boto3 = pytest.importorskip("boto3", reason="boto3 is not installed")
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    moto = server.ThreadedMotoServer(ip_address=LOOPBACK, port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("AWS_PROFILE", raising=False)
        for name, value in {**AWS, "AWS_ENDPOINT_URL": f"http://{host}:{port}"}.items():
            patch.setenv(name, value)
        yield boto3.client("s3")
    moto.stop()


@pytest.fixture(scope="session")
def bucket(s3: Any) -> str:  # noqa: ANN401
    """Returns the URL of a bucket with the captures of ARCHIVE."""
    s3.create_bucket(Bucket=BUCKET)
    for name, data in ARCHIVE.items():
        s3.put_object(Bucket=BUCKET, Key=name, Body=data)
    return f"s3://{BUCKET}"


# --- Spark ---


@pytest.fixture(scope="session")
def spark_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder in which Spark runs and writes its files."""
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="session")
def spark(s3: Any, spark_folder: Path) -> Iterator[SparkSession]:  # noqa: ANN401
    """Yields a session on this machine with the data source carry; its processes use the store."""
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if not shutil.which("java"):
        pytest.skip("java is not installed (Debian package openjdk-17-jre-headless)")
    from libcarry.spark import register

    settings = {
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.host": LOOPBACK,
        # With TieredStopAtLevel=1, Java starts quickly, but runs long jobs slowly.
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={spark_folder} -XX:TieredStopAtLevel=1",
        "spark.local.dir": spark_folder,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": 2,
        "spark.sql.warehouse.dir": spark_folder / "warehouse",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = sql.SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, str(value))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", LOOPBACK)
        patch.delenv("SPARK_HOME", raising=False)
        patch.chdir(spark_folder)
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    register(session)
    yield session
    session.stop()
