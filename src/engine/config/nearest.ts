/** Edits (insert, delete, replace, swap of neighbours) that turn one word into the other. */
function distance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replace = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swap = swapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY
      next.push(Math.min(replace, swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    before = row
    row = next
  }
  return row[b.length] ?? 0
}

/** A longer word is no slip of the finger; comparing it would take as long as the square of its length. */
const longestWord = 64

/** Whether a word is one slip of the finger away from another: an edit, or a swap of neighbours. */
export const isSlip = (word: string, meant: string): boolean =>
  word.length <= longestWord && distance(word, meant) <= 1

/** The known word that a person most likely meant; undefined when every word differs too much. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  if (word.length > longestWord) return undefined
  const candidates = [...known]
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[-_]/g, '')
  const ranked = candidates
    .map((candidate) => ({ candidate, edits: distance(plain(word), plain(candidate)) }))
    .sort((a, b) => a.edits - b.edits)
  const best = ranked[0]
  if (best === undefined || best.edits <= 1) return best?.candidate
  const near = best.edits <= Math.max(2, Math.ceil(word.length * 0.4)) ? best.candidate : undefined
  return calledBy(word, candidates) ?? near
}

/** The only name that ends in this word, such as repair_orders for `order`: people leave out what seems plain. */
function calledBy(word: string, candidates: readonly string[]): string | undefined {
  const ending = `_${word.toLowerCase().replace(/s$/, '')}`
  const called = candidates.filter((name) => name.endsWith(ending) || name.endsWith(`${ending}s`))
  return called.length === 1 ? called[0] : undefined
}

/** The known key nearest to an unknown one, however different: an error about a key always names one. */
export function nearestOrFirst(word: string, known: readonly string[]): string | undefined {
  const begin = word.slice(0, longestWord)
  return (
    nearest(word, known) ??
    [...known].sort((a, b) => distance(begin, a) - distance(begin, b) || a.localeCompare(b))[0]
  )
}
