/** Law 9 on a list in memory, as in test/engine/walk/walk.test.ts, over a hundred times as many walks. */
process.env.WALKS ??= '10000'
await import('../engine/walk/walk.test.js')
