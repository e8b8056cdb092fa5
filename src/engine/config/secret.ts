import { inspect } from 'node:util'

const mask = '[secret]'

/** A value that no accident prints: every conversion to text but `reveal` gives the mask. */
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
