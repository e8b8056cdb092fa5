/** The stories of beginning.txt. */
import { Skip } from '../../../src/engine/base/errors.js'
import { beginnings } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { rowsOf } from '../../support/harness/warehouse.js'
import { between } from '../../support/world/between.js'
import type { Words } from '../../support/world/liststory.js'
import { stories } from '../../support/world/listwords.js'

/** Since the last look: which of the beginnings were refused. */
let refused: string[] = []
const failing = (fails: (updatedAfter: string) => boolean, how: ConstructorParameters<typeof Skip>[1]) => {
  refused = []
  const around = between(async ({ updatedAfter }, ask) => {
    if (!fails(updatedAfter)) return ask()
    refused.push(updatedAfter)
    throw new Skip('The API did not answer with the list', how)
  })
  return { around }
}
const words: Words = {
  'two of before 1970': ({ list }) => {
    list.put(5001, '0001-01-01T00:00:00.000000Z')
    list.put(5002, '1950-05-05T05:05:05.000000Z')
  },
  // An API that can't take times before a given one; without a time it shows everything.
  'times before WORD fail with (a closed connection|\\d+)': (story, first, how) => {
    const status = how === 'a closed connection' ? {} : { status: Number(how) }
    const reason = how!.startsWith('4') ? 'refused' : 'failed'
    story.options = failing((after) => after !== '' && after < first!, { reason, ...status })
  },
  'an outage of N requests': (story, requests) => {
    let count = 0
    story.options = failing(() => ++count <= Number(requests), { reason: 'failed', status: 502 })
  },
  refused: async ({ list }) => {
    const asked = refused.splice(0).map((after) => (beginnings as readonly string[]).indexOf(after) + 1)
    const [source] = await rowsOf(list.warehouse, 'sync_source')
    return `beginnings ${asked.join(' ') || 'none'}, lists from ${source?.lists_from ?? 'the first'}`
  },
}

stories('test/engine/run/beginning.txt', await sandboxOfFile(), {}, words)
