import { inspect } from 'node:util'

const mask = '[secret]'

/** A value that can't be printed by accident: every conversion to text except `reveal` returns the mask. */
export class Secret {
  constructor(private readonly value: string) {}

  reveal(): string {
    return this.value
  }

  toString(): string {
    return mask
  }

  toJSON(): string {
    return mask
  }

  [inspect.custom](): string {
    return mask
  }
}

/** A value that a request header can carry: printable ASCII, without spaces or line breaks around it. */
export const isHeaderValue = (value: string): boolean => /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/.test(value)
