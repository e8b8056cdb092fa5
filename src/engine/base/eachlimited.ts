import pLimit from 'p-limit'

/**
 * Works on every item, at most so many at once. Takes an item only when the work on it can start, so that thousands of
 * waiting items cost nothing. After a failure nothing more is started; the first failure is thrown when all that is
 * under way has ended. The work may call this function again: every call has a limit of its own, while one limit that
 * is nested in itself would wait for itself.
 */
export async function eachLimited<T>(
  items: Iterable<T>,
  most: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const limit = pLimit(most)
  const underWay = new Set<Promise<void>>()
  const failures: unknown[] = []
  // Fails within the limit, so that the limit starts no waiting item between the failure and its mark.
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

/** As eachLimited; returns the results in the order of the items. */
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
