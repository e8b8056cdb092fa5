/** Law 9 on a list in memory, as in test/walk/walk.test.ts, over a hundred times as many walks. */
process.env.WALKS ??= '10000'
await import('../walk/walk.test.js')
