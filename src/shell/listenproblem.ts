/** Why a program couldn't listen at an address, for people. undefined for other errors. */
export function listenProblem(
  error: unknown,
  { host, port }: { readonly host: string; readonly port: number },
): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const found: Readonly<Record<string, string>> = {
    EADDRINUSE: `Port ${port} of ${host} is in use by another program, expected a free one`,
    EACCES: `This user may not use port ${port} of ${host}, expected one above 1023`,
    EADDRNOTAVAIL: `${host} is not an address of this machine, expected one such as 127.0.0.1`,
    ENOTFOUND: `${host} is not a known host name, expected an address such as 127.0.0.1`,
  }
  return typeof code === 'string' ? found[code] : undefined
}

/** `http://HOST:PORT`, with an IPv6 address in brackets. */
export const urlOf = (scheme: 'http' | 'https', host: string, port: number): string =>
  `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
