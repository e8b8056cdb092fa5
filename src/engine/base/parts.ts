/**
 * How many ids, or rows of 16 columns, a statement may name: databases limit its values (SQLite to 32,766, Postgres to
 * 65,535), and what waits for it may be any number.
 */
const namedAtOnce = 1000

/** The items in parts of at most this many. */
export function* inParts<T>(items: Iterable<T>, most = namedAtOnce): Generator<T[]> {
  const list = [...items]
  for (let i = 0; i < list.length; i += most) yield list.slice(i, i + most)
}

/** The items in groups by `of`, in the order of their arrival. */
export function groupedBy<T, K>(items: readonly T[], of: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) {
    const key = of(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
}
