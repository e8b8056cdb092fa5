/* What the code of a broken connection means, to the API, a database, a webhook or a heartbeat. */

const badTls = 'the port does not speak TLS'
const unknownAuthority = 'it is signed by an authority that is not known here'

const known: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the name server did not answer',
  ETIMEDOUT: 'the connection timed out',
  EHOSTUNREACH: 'there is no way to the host',
  ENETUNREACH: 'there is no way to its network',
  EHOSTDOWN: 'the host is down',
  ENETDOWN: "this machine's network is down",
  ECONNABORTED: 'the connection was closed',
  EADDRNOTAVAIL: 'this machine has no address or port left for it',
  ENOENT: 'there is no such socket',
  ENOTDIR: "the socket's folder is a file",
  EACCES: 'this user may not open the socket',
  EINVAL: 'nobody can connect to this address',
  UND_ERR_CONNECT_TIMEOUT: 'connecting took too long',
  UND_ERR_HEADERS_TIMEOUT: 'no answer came in time',
  UND_ERR_BODY_TIMEOUT: 'the body stopped arriving',
  REQUEST_DEADLINE: 'the answer did not end within api.timeouts.request',
  UND_ERR_SOCKET: 'the connection was closed before the answer was complete',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are larger than 16 kB',
  EMFILE: 'this process may not open more files',
  ENFILE: 'this machine cannot open more files',
  EPROTO: badTls,
  ERR_SSL_WRONG_VERSION_NUMBER: badTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: badTls,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the body is not as long as Content-Length says',
}

const ofCertificates: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: "it isn't valid yet",
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it is signed by itself',
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
}

export const wrongName = 'ERR_TLS_CERT_ALTNAME_INVALID'

/** Whether a connection ended because the other side's certificate is refused. */
export const isOfCertificate = (code: string): boolean =>
  /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|PRX_TLS/.test(code)

/** The names and addresses in the certificate that Node refused, such as `db.example.com, 10.0.0.7`. */
function namesIn(error: unknown): string {
  const { cert } = error as { readonly cert?: { subjectaltname?: string; subject?: { CN?: string } } }
  const names = cert?.subjectaltname?.replaceAll(/\b(DNS|IP Address|URI):/g, '')
  return names || cert?.subject?.CN || 'no name'
}

/** What the code of a broken connection means: `the connection was refused (ECONNREFUSED)`. */
export function connectionWords(code: string, error?: unknown): string {
  if (!isOfCertificate(code)) return `${known[code] ?? 'the connection failed'} (${code})`
  const why = code === wrongName ? `it is for ${namesIn(error)}` : ofCertificates[code]
  return `the server's certificate is not trusted${why === undefined ? '' : `: ${why}`} (${code})`
}
