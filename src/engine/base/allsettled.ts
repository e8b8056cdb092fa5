/**
 * Like Promise.all, but waits for all work to end before it throws the first failure. Work that is still running while
 * its transaction is rolled back would write outside the transaction.
 */
export async function allSettled<T extends readonly unknown[] | []>(
  works: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  let first: { readonly error: unknown } | undefined
  const ended = works.map((work) =>
    Promise.resolve(work).catch((error: unknown) => {
      first ??= { error }
    }),
  )
  const results = await Promise.all(ended)
  if (first) throw first.error
  return results as { -readonly [K in keyof T]: Awaited<T[K]> }
}
