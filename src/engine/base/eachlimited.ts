import pLimit from 'p-limit'

/**
 * Works on every item, at most `most` at a time. Takes an item only when its work can start, so thousands of waiting
 * items cost nothing. After a failure, nothing more starts, and the first failure is thrown once all running work has
 * ended. The work may call this function again: every call has its own limit, while a single limit nested in itself
 * would deadlock.
 */
export async function eachLimited<T>(
  items: Iterable<T>,
  most: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const limit = pLimit(most)
  const underWay = new Set<Promise<void>>()
  const failures: unknown[] = []
  // Fails inside the limit, so the limit starts no waiting item before the failure is recorded.
  const attempt = async (item: T): Promise<void> => {
    try {
      if (failures.length === 0) await work(item)
    } catch (error) {
      failures.push(error)
    }
  }
  for (const item of items) {
    await new Promise<void>((started) => {
      const one = limit(() => {
        started()
        return attempt(item)
      }).finally(() => underWay.delete(one))
      underWay.add(one)
    })
    if (failures.length > 0) break
  }
  await Promise.all(underWay)
  if (failures.length > 0) throw failures[0]
}

/** Like eachLimited, but returns the results in the order of the items. */
export async function mapLimited<T, R>(
  items: Iterable<T>,
  most: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  await eachLimited([...items].entries(), most, async ([i, item]) => {
    results[i] = await work(item)
  })
  return results
}
