import { distance } from 'fastest-levenshtein'

/** Whether a swap of two neighboring characters, and nothing else, turns one word into the other. */
function isSwap(a: string, b: string): boolean {
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  const swapped = `${a.slice(0, at)}${a[at + 1] ?? ''}${a[at] ?? ''}${a.slice(at + 2)}`
  return a !== b && swapped === b
}

/**
 * Edits (insert, delete, replace) that turn one word into the other. A swap of two neighbors also counts as one edit.
 */
const edits = (a: string, b: string): number => (isSwap(a, b) ? 1 : distance(a, b))

/** A longer word isn't a typo, and the time to compare it would grow with the square of its length. */
const longestWord = 64

/** Whether a word is one typo away from another: an edit, or a swap of neighbors. */
export const isSlip = (word: string, meant: string): boolean =>
  word.length <= longestWord && edits(word, meant) <= 1

/** The known word that a person most likely meant. undefined if every word differs too much. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  if (word.length > longestWord) return undefined
  const candidates = [...known]
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[-_]/g, '')
  const ranked = candidates
    .map((candidate) => ({ candidate, edits: edits(plain(word), plain(candidate)) }))
    .sort((a, b) => a.edits - b.edits)
  const best = ranked[0]
  if (best === undefined || best.edits <= 1) return best?.candidate
  const near = best.edits <= Math.max(2, Math.ceil(word.length * 0.4)) ? best.candidate : undefined
  return calledBy(word, candidates) ?? near
}

/** The only name that ends in this word, such as repair_orders for `order`: people leave out what seems obvious. */
function calledBy(word: string, candidates: readonly string[]): string | undefined {
  const ending = `_${word.toLowerCase().replace(/s$/, '')}`
  const called = candidates.filter((name) => name.endsWith(ending) || name.endsWith(`${ending}s`))
  return called.length === 1 ? called[0] : undefined
}

/** The known key nearest to an unknown one, however different: an error about a key always suggests one. */
export function nearestOrFirst(word: string, known: readonly string[]): string | undefined {
  const begin = word.slice(0, longestWord)
  return (
    nearest(word, known) ??
    [...known].sort((a, b) => edits(begin, a) - edits(begin, b) || a.localeCompare(b))[0]
  )
}
