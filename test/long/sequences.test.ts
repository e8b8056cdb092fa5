/** The readings of test/engine/list/sequences.test.ts, all of them. */
process.env.SEQUENCE_COUNT ??= '550'
await import('../engine/list/sequences.test.js')
