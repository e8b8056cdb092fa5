/** The texts in the program's sources, for the tests of its language and of its hints. */
import { parseAst } from 'vitest/node'
import { textOf } from './tree.js'

/** The texts in a file's code: its string literals, and what templates say around their placeholders. */
export function textsIn(file: string): string[] {
  const texts: string[] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    if (Array.isArray(node)) {
      node.forEach(visit)
      return
    }
    const { type, value, quasis } = node as { type?: string; value?: unknown; quasis?: Quasi[] }
    if (type === 'Literal' && typeof value === 'string') texts.push(value)
    if (type === 'TemplateLiteral') texts.push((quasis ?? []).map((quasi) => quasi.value.cooked).join('…'))
    Object.values(node).forEach(visit)
  }
  visit(parseAst(textOf(file), { lang: 'ts' }, file).body)
  return texts.filter((text) => /[A-Za-z]{2} [A-Za-z…]/.test(text))
}

interface Quasi {
  readonly value: { readonly cooked: string }
}
