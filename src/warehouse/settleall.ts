/**
 * As Promise.all, but a failure is thrown only when all have ended, the first of them: nothing may still be under way,
 * or begin, when the transaction that all of it belongs to is rolled back.
 */
export async function settleAll<T extends readonly unknown[] | []>(
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
