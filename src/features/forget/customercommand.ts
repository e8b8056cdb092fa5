/* `forget --customer` and `forget --replay`. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Int64 } from '../../../schema/resource.js'
import { Stop } from '../../engine/base/errors.js'
import { parseId } from '../../engine/base/int64.js'
import { checkTables } from '../../engine/warehouse/layout/migrate.js'
import type { CommandContext, Invocation } from '../../shell/command.js'
import { confirmTyped } from '../../shell/confirmation.js'
import { listOf } from '../../shell/flags.js'
import { forgottenFile, readForgottenFile, recordForgotten } from '../../shell/forgottenfile.js'
import { checkPersons, countForgotten, forgetPersons, liftPersons, type Person } from './customers.js'
import { countsText, liftedText, missedText, personName, personQuestion, receiptText } from './words.js'

const wrong = (message: string, hint: string): Stop => new Stop(message, { exitCode: 2, hint })

/** Contradicting flags are refused: each of these erases something else. */
function refuseBoth(options: Invocation['options'], one: string, others: readonly string[]): void {
  const isGiven = (flag: string): boolean => {
    const value = options[flag.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())]
    return value === true || (typeof value === 'string' && value !== '') || listOf(value).length > 0
  }
  const other = isGiven(one) ? others.find(isGiven) : undefined
  if (other !== undefined)
    throw wrong(
      `Found --${one} and --${other}, expected one of them`,
      `Type shopsync forget without --${other}`,
    )
}

function customersOf({ options }: Pick<Invocation, 'options'>, tenantId: Int64): Person[] {
  const texts = [...new Set(listOf(options.customer))]
  return texts.map((text) => {
    const id = parseId(text)
    if (id !== undefined) return { tenantId, id }
    throw wrong(
      `Found --customer "${text.slice(0, 100)}", expected a customer's id: a positive whole number`,
      `Type shopsync forget --tenant ${tenantId} --customer 5, and --customer again for each other one`,
    )
  })
}

/** Whom the flags name. */
function personsOf(invocation: Invocation, { choice }: CommandContext): Person[] {
  const { options, io } = invocation
  refuseBoth(options, 'replay', ['tenant', 'customer', 'lift', 'dry-run'])
  refuseBoth(options, 'lift', ['dry-run'])
  if (typeof options.replay === 'string') {
    const file = resolve(io.workingDirectory, options.replay)
    if (!existsSync(file))
      throw wrong(`There is no file ${file}`, `Expected a file such as ${forgottenFile(invocation)}`)
    const { persons, unreadable } = readForgottenFile(file)
    if (unreadable.length > 0)
      throw wrong(
        `Line ${unreadable.join(', ')} of ${file} names no tenant_id and customer_id, expected lines that shopsync forget has written`,
        'Correct or delete these lines; nobody was forgotten yet',
      )
    return [...persons]
  }
  const tenants = listOf(options.tenant).length > 0 ? (choice.tenants ?? []) : []
  const [tenantId, ...more] = tenants
  if (tenantId === undefined || more.length > 0)
    throw wrong(
      `Found ${tenantId === undefined ? 'no --tenant' : `${tenants.length} tenants`}, expected one: ids of customers are a tenant's own`,
      'Type shopsync forget --tenant ID --customer ID',
    )
  return customersOf(invocation, tenantId)
}

export async function onCustomers(invocation: Invocation, context: CommandContext): Promise<number> {
  const { options, out, signals } = invocation
  const persons = personsOf(invocation, context)
  const { clock } = context
  if (options.dryRun === true) {
    const there = await context.open('read')
    await checkTables(there)
    await checkPersons({ warehouse: there }, persons)
    const counts = await countForgotten({ warehouse: there, clock }, persons)
    await out.answer(counts, countsText(counts, persons.map(personName)))
    return counts.not_looked_at.length === 0 ? 0 : 1
  }
  const warehouse = await context.open('write')
  const file = forgottenFile(invocation)
  const { signal } = signals
  const needs = {
    warehouse,
    clock,
    signal,
    record: (line: Parameters<typeof recordForgotten>[1]) => recordForgotten(file, line),
  }
  if (options.lift === true) {
    const lifted = await liftPersons(needs, persons)
    await out.answer({ lifted }, liftedText(persons.map(personName)))
    return 0
  }
  const isReplay = options.replay !== undefined
  // A restored backup may be older than the customer: then there is nothing to erase, and it still must not come.
  if (!isReplay) await checkPersons(needs, persons)
  if (!isReplay && options.yes !== true) await confirm(invocation, persons)
  signals.resumesAt = () => 'part may be erased already; the same command again erases the rest'
  const receipts = persons.length > 0 ? await forgetPersons(needs, persons) : []
  await out.answer({ receipts }, receiptText(receipts, file))
  const left = receipts.find((receipt) => receipt.traces_left !== null)?.traces_left ?? null
  const missed = receipts.flatMap((receipt) => receipt.not_looked_at)
  if (out.quiet && left !== null) out.trouble(left)
  if (out.quiet && missed.length > 0) out.trouble(missedText(missed).trimStart())
  return left === null && missed.length === 0 ? 0 : 1
}

async function confirm({ signals, io }: Invocation, persons: readonly Person[]): Promise<void> {
  const word = persons.map(personName).join(' ')
  const undone = 'Nothing was erased. To erase without being asked, add --yes'
  signals.resumesAt = () => 'nothing was erased'
  await confirmTyped(word, { question: personQuestion(word), undone, signal: signals.signal, io })
}
