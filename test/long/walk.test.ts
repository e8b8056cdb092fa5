/** Law 9 on a list in memory, as in test/walk/walk.test.ts, over ten times as many walks. */
process.env.WALKS ??= '20000'
await import('../walk/walk.test.js')
