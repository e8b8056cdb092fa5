/*
 * The secret that the source sends with each event. Digests are compared in constant time, and the secret is never
 * stored. Wrong secrets are counted: many of them without a right one mean that the secret was changed on one side.
 */
import { createHash, timingSafeEqual } from 'node:crypto'

const window = 600_000
const most = 10
/** Milliseconds between two lines in the log: someone sending wrong secrets must not fill it. */
const betweenLines = 3_600_000

const digestOf = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest()

export class SecretCheck {
  /** When the last wrong ones and the last right one came, in ms since the epoch. */
  #wrong: number[] = []
  #rightAt = 0
  #toldAt = Number.NEGATIVE_INFINITY
  #untold = 0

  constructor(
    private readonly digests: readonly Uint8Array[],
    private readonly now: () => number,
    private readonly tell: (fields: { readonly wrong_secrets: number }) => void,
  ) {}

  isRight(given: string | undefined): boolean {
    const digest = digestOf(given ?? '')
    let isRight = false
    for (const expected of this.digests) if (timingSafeEqual(digest, expected)) isRight = true
    if (isRight) this.#rightAt = this.now()
    else this.#note()
    return isRight
  }

  #note(): void {
    const now = this.now()
    this.#wrong = [...this.#wrong.slice(1 - most), now]
    this.#untold += 1
    if (now - this.#toldAt < betweenLines) return
    this.#toldAt = now
    this.tell({ wrong_secrets: this.#untold })
    this.#untold = 0
  }

  /** Ten wrong ones within ten minutes, and no right one. */
  get isWrong(): boolean {
    const since = this.now() - window
    return this.#wrong.filter((at) => at >= since).length >= most && this.#rightAt < since
  }
}
