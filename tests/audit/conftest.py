# SPDX-License-Identifier: MIT
"""What the tests of archives share: captures, a store that holds them, a session of Spark."""

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

SOURCE = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "tests/python"))

import captures

# The store asks nobody, and nobody else's settings say where it is. What tests start inherits this.
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


def pcap(*sums: str, first: int = 1_700_000_000) -> bytes:
    """A TCP packet each second, whose sum is good, bad, partial or none."""
    packets = (captures.ethernet(captures.packet(captures.TCP, sums=each)) for each in sums)
    records = (captures.Record(data, None, first + i, 123_456) for i, data in enumerate(packets))
    return captures.pcap(records)


def ticking(*sums: str) -> bytes:
    """The same in pcapng, with times that are no whole microseconds."""
    nanoseconds = captures.option("<", 9, b"\x09") + captures.option("<", 0, b"")
    file = captures.Pcapng().section().interface(options=nanoseconds)
    for number, each in enumerate(sums):
        packet = captures.ethernet(captures.packet(captures.UDP, sums=each))
        file.packet(packet, ticks=1_700_000_000_000_000_999 + number)
    return file.bytes()


# What an archive holds: all that there is to say of a capture.
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
    """A folder of captures, which no test changes."""
    folder = tmp_path_factory.mktemp("archive")
    write_files(folder, ARCHIVE)
    return folder


# --- A store ---


@pytest.fixture(scope="session")
def s3() -> Iterator[Any]:
    """An S3 of this process, to which URLs of s3:// lead; a client of it."""
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
    """The URL of a bucket with the same captures."""
    s3.create_bucket(Bucket=BUCKET)
    for name, data in ARCHIVE.items():
        s3.put_object(Bucket=BUCKET, Key=name, Body=data)
    return f"s3://{BUCKET}"


# --- Spark ---


@pytest.fixture(scope="session")
def spark_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where Spark is started, and leaves what it leaves."""
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="session")
def spark(s3: Any, spark_folder: Path) -> Iterator[SparkSession]:  # noqa: ANN401
    """A session on this machine, which knows carry. It and what it starts inherit the store."""
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if not shutil.which("java"):
        pytest.skip("java is not installed (Debian package openjdk-17-jre-headless)")
    from libcarry.spark import register

    settings = {
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.host": LOOPBACK,
        # Quickly started, not quick for long.
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
