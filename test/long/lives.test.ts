/** Random lives as in test/engine/run/lives.test.ts, many and larger ones. */
process.env.LIVES ??= 'many'
await import('../engine/run/lives.test.js')
