import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { between } from '../../support/world/between.js'
import type { Words } from '../../support/world/liststory.js'
import { stories } from '../../support/world/listwords.js'
import { at, timeOf } from '../../support/world/notes.js'

const words: Words = {
  // Their order by id is reversed.
  'five a second N\\.\\.N': ({ list }, from, to) => {
    for (let id = Number(from); id <= Number(to); id++) list.put(id, at(Math.floor(id / 5), (id % 5) * 100))
  },
  'another order in each response': (story) =>
    story.meanwhile((asked) => {
      story.list.odd.order = asked % 2 === 0 ? 'newest' : 'oldest'
    }),
  'newest first again': (story) => {
    story.meanwhile()
    story.list.odd.order = 'newest'
  },
  'one comes with each request': (story) =>
    story.meanwhile((asked) => story.list.put(1000 + asked, at(50_000 + asked))),
  'none comes any more': (story) => story.meanwhile(),
  'pages behind the first are empty': (story) => {
    const around = between(async ({ page }, ask) => {
      const answer = await ask()
      return page > 1 ? { ...answer, records: [], tokens: () => [] } : answer
    })
    story.options = { around }
  },
  'all pages are shown again': (story) => {
    story.options = {}
  },
  // More than 50 pages.
  '5000 rows more': async ({ list }) => {
    const { db } = list.warehouse
    for (let from = 1000; from < 6000; from += 1000) {
      const rows = Array.from({ length: 1000 }, (_, i) => {
        return { tenant_id: 1, id: from + i, updated_at: timeOf(1), _synced_at: timeOf(1) }
      })
      await list.warehouse.write([db.insertInto('notes').values(rows).compile()])
    }
  },
  // One time from the 90th place to the 110th: pages of 100 and of 97 split it, pages of 89 don't.
  'pages of 100 and 97 show one of the ties again': ({ list }) => {
    let isParted = true
    list.onList((_asked, _page, perPage) => {
      isParted = perPage === 100 || perPage === 97
    })
    list.odd.hidden.add(0)
    let again: unknown
    list.odd.shown = (page) => {
      again = page.find(({ key }) => key === 260) ?? again
      return page.map((entry) => (entry.key === 250 && isParted ? (again as typeof entry) : entry))
    }
  },
}

stories('test/engine/run/oddlists.txt', await sandboxOfFile(), { overlapMs: 60_000 }, words)
