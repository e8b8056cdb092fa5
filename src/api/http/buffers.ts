/** Memory for bodies that is used again: what is made anew for each waits long to be collected. */
const mostSpare = 8
/** Smaller ones are not worth keeping, larger ones not worth holding on to. */
const smallest = 64 * 1024
const largest = 8 * 1024 * 1024

const spare: Buffer[] = []

function take(size: number): Buffer {
  const found = spare.findIndex((memory) => memory.length >= size)
  if (found >= 0) return spare.splice(found, 1)[0] as Buffer
  return Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(size)))
}

/** Puts the pieces of one body together. */
export class BodyBuffer {
  #memory: Buffer | undefined
  #pieces: Buffer[] = []
  #bytes = 0

  /** `length` as the server announces it; NaN when it does not. */
  constructor(length: number) {
    if (length >= smallest && length <= largest) this.#memory = take(length)
  }

  get bytes(): number {
    return this.#bytes
  }

  add(piece: Buffer): void {
    const memory = this.#memory
    if (memory && this.#bytes + piece.length <= memory.length) piece.copy(memory, this.#bytes)
    else {
      if (memory) this.#pieces.push(Buffer.from(memory.subarray(0, this.#bytes)))
      this.release()
      this.#pieces.push(piece)
    }
    this.#bytes += piece.length
  }

  /** All of it; good until `release`. */
  whole(): Buffer {
    if (this.#memory) return this.#memory.subarray(0, this.#bytes)
    const [first, second] = this.#pieces
    return second === undefined ? (first ?? Buffer.alloc(0)) : Buffer.concat(this.#pieces, this.#bytes)
  }

  /** It was read: its memory may hold another. */
  release(): void {
    if (this.#memory && spare.length < mostSpare) spare.push(this.#memory)
    this.#memory = undefined
  }
}
