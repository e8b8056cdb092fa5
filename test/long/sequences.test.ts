/** The readings of test/engine/walk/sequences.test.ts, all of them. */
process.env.SEQUENCE_COUNT ??= '550'
await import('../engine/walk/sequences.test.js')
