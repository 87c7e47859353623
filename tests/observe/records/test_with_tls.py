"""At a listener with TLS, as behind a bootstrap with the settings of Kafka's clients."""

from pathlib import Path

from coordinator.client.bootstrap import Bootstrap
from coordinator.client.security import ClientSecurity
from coordinator.observe.poll import poll_group
from coordinator.observe.records.following import OffsetsFollower
from coordinator.observe.records.reader import read_offsets_partition
from coordinator.observe.records.stored import ClassicGroup
from tests.certificates import authority, tls_settings
from tests.servers import RunningServer
from tests.wire_client import WireClient


def test_reading_following_and_polling(tmp_path: Path):
    settings = {
        "security.protocol": "SSL",
        "ssl.truststore.certificates": authority().certificate_pem,
        "ssl.truststore.type": "PEM",
    }
    with RunningServer(tmp_path, tls_settings(tmp_path)) as server:
        bootstrap = Bootstrap(server.bootstrap, ClientSecurity(settings))
        with WireClient(bootstrap) as client:
            client.join_alone("behind TLS")
        with read_offsets_partition(bootstrap, "behind TLS") as reading:
            read = [each for _, each in reading if isinstance(each, ClassicGroup)]
        with OffsetsFollower(bootstrap, wait_ms=50) as following:
            followed = following.follow(following.starts())
            found: list[ClassicGroup] = []
            while len(found) < len(read):
                found += [each for _, each in next(followed).records if isinstance(each, ClassicGroup)]
        present = poll_group(bootstrap, "behind TLS")
    assert read[-1].members
    assert found == read
    assert (present.state, len(present.members)) == ("Stable", 1)
