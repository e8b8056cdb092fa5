/** The stories of isolation.txt: promise 4. */
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { between } from '../../support/world/between.js'
import { runStories } from '../../support/world/runstory.js'

const sandbox = await sandboxOfFile()

runStories(
  'test/engine/run/isolation.txt',
  sandbox,
  { resources: ['categories', 'notes', 'vehicles'] },
  {
    'notes of 101 meet an error of ours': (story) => {
      const around = between(async ({ path, tenantId }, ask) => {
        if (path === 'notes' && tenantId === 101) throw new TypeError('planted')
        return ask()
      })
      story.options = { around, toleratesBugs: true }
    },
    'revoked at its second list': () => {
      let lists = 0
      sandbox.onRequest(({ tenant }) => {
        if (tenant === 101 && ++lists === 2) sandbox.store.revoke(101)
      })
    },
    // The first record of each of three pages has no id.
    '250 notes, of which three have no id': () => {
      for (let n = 0; n < 250; n++) {
        const at = new Date(Date.UTC(2026, 0, 2) - n * 60_000).toISOString()
        const record = n % 100 === 0 ? { text: `no id ${n}` } : { id: 100_000 + n, text: 'a note' }
        sandbox.store.put(101, 'notes', { ...record, updated_at: at, created_at: at })
      }
    },
  },
)
