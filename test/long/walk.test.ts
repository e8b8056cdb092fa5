/** Law 9 on a list in memory, as in test/engine/list/walk.test.ts, over a hundred times as many walks. */
process.env.WALKS ??= '10000'
await import('../engine/list/walk.test.js')
