//! A server of one page, at an address that counts as one of the open internet.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

/// A server of one page, which runs until the process ends.
pub(super) struct PageServer {
    address: SocketAddr,
}

impl PageServer {
    /// Starts it at port 80, which is the one that is allowed without a setting.
    pub(super) fn start(address: Ipv4Addr, page: String) -> io::Result<Self> {
        let address = SocketAddr::new(IpAddr::V4(address), 80);
        let listener = TcpListener::bind(address)?;
        let page: Arc<str> = page.into();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let page = Arc::clone(&page);
                // A client that is gone is none of the server's business.
                std::thread::spawn(move || drop(serve(stream, &page)));
            }
        });
        Ok(Self { address })
    }

    /// Returns the URL of the page.
    pub(super) fn url(&self) -> String {
        format!("http://{}/guide.html", self.address.ip())
    }
}

/// Answers the requests of a connection.
fn serve(mut stream: TcpStream, page: &str) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut input = BufReader::new(stream.try_clone()?);
    loop {
        let mut request = String::new();
        if input.read_line(&mut request)? == 0 {
            return Ok(());
        }
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            if input.read_line(&mut line)? == 0 {
                return Ok(());
            }
        }
        let (status, body) = match request.split(' ').nth(1) {
            Some("/guide.html") => ("200 OK", page),
            _ => ("404 Not Found", ""),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(&[head.as_bytes(), body.as_bytes()].concat())?;
    }
}
