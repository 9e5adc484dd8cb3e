"""Who may ask a service: a token from a file that nobody else reads, or this machine only."""

import hashlib

import pytest

from copa.exceptions import InvalidInputError
from copa.service import ServiceSettings
from copa.service.run import Address, url_of
from copa.service.settings import is_loopback, read_token, require_token_elsewhere
from unit.service.banks import TOKEN

ELSEWHERE = ["0.0.0.0", "::", "", "192.0.2.1", "2001:db8::1", "no.such.host.invalid", "\ud800"]  # noqa: S104


@pytest.fixture
def file(tmp_path):
    """Writes a token file with a mode."""

    def write(content, mode=0o600):
        path = tmp_path / "token"
        path.write_bytes(content)
        path.chmod(mode)
        return path

    return write


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_token_is_read_without_the_end_of_its_line_and_only_its_digest_is_kept(file, end):
    assert read_token(file(f"{TOKEN}{end}".encode())) == hashlib.sha256(TOKEN.encode()).digest()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o777])
def test_a_token_that_others_may_read_is_refused(file, mode):
    with pytest.raises(InvalidInputError, match=f"mode {mode:03o}.*chmod 600"):
        read_token(file(TOKEN.encode(), mode))


@pytest.mark.parametrize(
    "content",
    [b"", b"short", b"fifteen-letters", b"two words in a line", b"x" * 4097, b"\xff" * 20, b"a" * 20 + b"\nb"],
)
def test_what_is_no_token_is_refused(file, content):
    with pytest.raises(InvalidInputError, match="16 to 4,096 visible ASCII characters") as error:
        read_token(file(content))
    assert content.decode("latin-1") not in str(error.value) or not content


def test_a_token_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r"nothing.* cannot be read: No such file"):
        read_token(tmp_path / "nothing")
    with pytest.raises(InvalidInputError, match="cannot be read: Is a directory"):
        read_token(tmp_path)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "::1", "localhost"])
def test_this_machine_needs_no_token(host):
    assert is_loopback(host)
    require_token_elsewhere(host, None)


@pytest.mark.parametrize("host", ELSEWHERE)
def test_any_other_address_needs_one(host):
    assert not is_loopback(host)
    with pytest.raises(InvalidInputError, match="can be reached from other machines"):
        require_token_elsewhere(host, None)
    require_token_elsewhere(host, bytes(32))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_body": 0}, "max_body"),
        ({"max_applicants": 1.5}, "max_applicants"),
        ({"max_requests": True}, "max_requests"),
        ({"max_options": -1}, "max_options"),
        ({"time_limit": 0.0}, "time_limit"),
        ({"time_limit": float("nan")}, "time_limit"),
        ({"token_digest": TOKEN}, "SHA-256"),
        ({"token_digest": b"short"}, "SHA-256"),
    ],
)
def test_settings_that_mean_nothing_are_refused(given, message):
    with pytest.raises(InvalidInputError, match=message):
        ServiceSettings(**given)


def test_people_need_a_token_also_here(declined):
    with pytest.raises(InvalidInputError, match="personal data, and need a token"):
        ServiceSettings(applicants=declined)


def test_an_address_that_cannot_be_used_is_said_in_a_line():
    with Address(port=0).bound() as bound:
        assert url_of(bound) == f"http://127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(InvalidInputError, match=r"the address 127\.0\.0\.1, port \d+ cannot be used"):
            Address(port=bound.getsockname()[1]).bound()
