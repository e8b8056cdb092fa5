/** An inbox that was interrupted while its first listener made it: nothing else may fail because of it. */
import { writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { Inbox } from '../../../src/features/events/inbox.js'
import { bothWarehouses, reopen } from '../../support/harness/warehouse.js'

it('reads as missing, and is made by the next listener', async () => {
  const [kind] = bothWarehouses()
  const address = await kind!.migrated()
  writeFileSync(`${address.url.slice('sqlite:'.length)}.events`, '')
  const warehouse = await reopen(address)
  expect(await Inbox.there(warehouse)).toBeUndefined()
  await (await Inbox.open(warehouse)).close()
  const inbox = await Inbox.there(warehouse)
  expect(inbox).toBeDefined()
  await inbox?.close()
  await warehouse.close()
})
