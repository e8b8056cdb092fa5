/** The stories of oddlists.txt. */
import type { Source } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { between, replacing } from '../../support/world/between.js'
import type { Words } from '../../support/world/liststory.js'
import { stories } from '../../support/world/listwords.js'
import { at } from '../../support/world/notes.js'

const sandbox = await sandboxOfFile()

/** Lists lack a certain record, wherever it is. */
const hiding = (id: number) =>
  between(async ({ updatedAfter }, ask) => {
    const page = await ask()
    const records = page.records.filter((record) => (record as { id: number }).id !== id)
    const time = String(sandbox.store.stored(1, 'notes', id)?.updated_at)
    return { ...page, records, total: page.total - (time > updatedAfter ? 1 : 0) }
  })

/** Lists don't show its new position yet; requested by its id, it is found. */
const moving = (id: number) => (source: Source) =>
  replacing((its) => ({
    item: async (request) => {
      if (request.id === id) sandbox.store.change(1, 'notes', id, { description: 'moved' })
      return its.item(request)
    },
  }))(hiding(id)(source))

const words: Words = {
  'lists lack N': (story, id) => {
    story.options = { around: hiding(Number(id)) }
  },
  'lists lack N, which changes when it is asked for': (story, id) => {
    story.options = { around: moving(Number(id)) }
  },
  'another tenant': () => void sandbox.store.addTenant({ id: 2 }),
  'revoked when it is asked by id': () => {
    sandbox.onRequest(({ id }) => {
      if (id !== null) sandbox.store.revoke(1)
    })
  },
  'one without an id at N': (_, seconds) => {
    const record = { description: 'no id', updated_at: at(Number(seconds)), created_at: at(1) }
    sandbox.store.put(1, 'notes', record)
  },
}

stories('test/features/reconcile/oddlists.txt', sandbox, {}, words)
