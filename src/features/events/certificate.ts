/*
 * The receiver's certificate, read again when its files change: nothing has to be restarted to renew it. If the files
 * don't match, as between writing one and the other, the old certificate stays.
 */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { codeFromOutside, describeError, instead, Stop } from '../../engine/base/errors.js'
import type { TlsFiles } from './threadmessages.js'

export interface Pem {
  readonly cert: string
  readonly key: string
}

const read = (file: string, what: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Stop(`The ${what} ${file} cannot be read (${codeFromOutside(error)})`, {
      exitCode: 2,
      hint: 'Expected events.tls.cert and events.tls.key, or --tls-cert and --tls-key, to name two files in PEM',
    })
  }
}

/** Throws Stop if the two can't be used. */
export function readPem({ cert, key }: TlsFiles): Pem {
  const pem = { cert: read(cert, 'certificate'), key: read(key, 'key') }
  try {
    createSecureContext(pem)
  } catch (error) {
    codeFromOutside(error)
    throw new Stop(`The certificate and its key cannot be used: ${describeError(error)}`, {
      exitCode: 2,
      hint: `Expected a certificate in ${cert} and its key in ${key}, both in PEM`,
    })
  }
  return pem
}

export class Certificate {
  /** Why the files can't be used now. */
  #problem: string | undefined
  #endsAt: number

  constructor(
    private readonly files: TlsFiles,
    public pem: Pem,
  ) {
    this.#endsAt = endOf(pem)
  }

  /** The new certificate, if the files have changed and can be used. */
  renewed(): Pem | undefined {
    try {
      const pem = readPem(this.files)
      this.#problem = undefined
      if (pem.cert === this.pem.cert && pem.key === this.pem.key) return undefined
      this.pem = pem
      this.#endsAt = endOf(pem)
      return pem
    } catch (error) {
      this.#problem = instead(describeError(error))(error)
      return undefined
    }
  }

  /** When it expires, in ms since the epoch. */
  get endsAt(): number {
    return this.#endsAt
  }

  get problem(): string | undefined {
    return this.#problem
  }
}

const endOf = ({ cert }: Pem): number => Date.parse(new X509Certificate(cert).validTo)
