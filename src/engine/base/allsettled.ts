/**
 * As Promise.all, but throws the first failure only when all works have ended. A work that was still under way, or
 * began, while its transaction is rolled back would write outside of the transaction.
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
