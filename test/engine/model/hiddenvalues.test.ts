/** Pseudonyms, and the places of a record that are hidden. */
import { describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import { type Privacy, treatmentOf } from '../../../src/engine/config/treatment.js'
import { hiddenValue, keyCheck, pseudonym } from '../../../src/engine/model/privacy.js'
import { model } from '../../../src/engine/model/registry.js'

const privacy: Privacy = { preset: 'none', columns: {}, key: Buffer.alloc(32, 1), keyVersion: 7 }
const first = { domain: 'customers.first_name' }

describe('a pseudonym', () => {
  it('of equal text is equal, and has its key version and 22 characters', () => {
    expect(pseudonym(privacy, 101, first, 'Ada')).toBe(pseudonym(privacy, 101n, first, 'Ada'))
    expect(pseudonym(privacy, 101, first, 'Ada')).toMatch(/^h7:[\w-]{22}$/)
    expect(pseudonym(privacy, 101, first, '')).toBe('')
  })

  it('of another tenant, another column or another key is another', () => {
    const all = [
      pseudonym(privacy, 101, first, 'Ada'),
      pseudonym(privacy, 102, first, 'Ada'),
      pseudonym(privacy, 101, { domain: 'customers.last_name' }, 'Ada'),
      pseudonym({ ...privacy, key: Buffer.alloc(32, 2) }, 101, first, 'Ada'),
      pseudonym(privacy, 101, first, 'ada'),
      // Where one part ends and the next one begins is part of it.
      pseudonym(privacy, 10, { domain: '1customers.first_name' }, 'Ada'),
    ]
    expect(new Set(all).size).toBe(all.length)
  })

  it('of null is null, and of what is no text too', () => {
    const column = { ...first, name: 'first_name', treatment: 'hash' as const }
    expect(hiddenValue(privacy, 101, column, null)).toBeNull()
    expect(hiddenValue(privacy, 101, column, 5)).toBeNull()
    expect(hiddenValue(privacy, 101, { ...column, treatment: 'drop' }, 'Ada')).toBeNull()
  })

  it('a check of the key tells keys apart, and nothing about them', () => {
    expect(keyCheck(privacy)).toMatch(/^[0-9a-f]{16}$/)
    expect(keyCheck(privacy)).not.toBe(keyCheck({ ...privacy, key: Buffer.alloc(32, 2) }))
    expect(keyCheck({ key: null })).toBeNull()
  })
})

describe('a column', () => {
  const personal = { who: 'customer', preset: 'hash' } as const
  const preset = { preset: 'pseudonymous', columns: { customers: { city: 'keep', state: 'drop' } } } as const

  it('is treated as named, else as the preset says, else kept', () => {
    expect(treatmentOf(preset, 'customers', { name: 'city', personal })).toBe('keep')
    expect(treatmentOf(preset, 'customers', { name: 'state' })).toBe('drop')
    expect(treatmentOf(preset, 'customers', { name: 'email', personal })).toBe('hash')
    expect(treatmentOf(preset, 'shops', { name: 'city' })).toBe('keep')
    expect(treatmentOf({ ...preset, preset: 'none' }, 'customers', { name: 'email', personal })).toBe('keep')
  })
})

describe('a place in a record', () => {
  const known = model(resources, {}, [], { ...privacy, preset: 'pseudonymous' })
  const places = (name: string) => known.byName.get(name)!.places

  it.each([
    ['customers', 'email', true],
    ['customers', 'state', false],
    ['customers', '', true],
    ['customers', 'loyalty.level', true],
    ['customers', 'phones', true],
    ['customers', 'phones[3]', true],
    ['customers', 'phones[3].number', true],
    ['repair_orders', 'services[0].parts[1].cost_cents', false],
    ['repair_orders', 'services[0]', true],
    ['inventories', 'brand', false],
    ['inventories', 'unknown', false],
    ['repair_orders', 'integrator_tags[2].value', true],
    ['inventories', 'integrator_tags[0].value', true],
    ['inventories', 'integrator_tags[0]', true],
    ['inventories', 'integrator_tags[0].name', false],
  ])('%s: a value at "%s" is hidden: %s', (resource, path, isHidden) => {
    expect(places(resource).hides(path)).toBe(isHidden)
  })

  it.each([
    ['customers', 'state', '"T\\ud800"', true],
    ['customers', 'state', '{"x":"ann@example.com"}', false],
    ['customers', 'state', JSON.stringify('long '.repeat(9)), false],
    ['customers', 'shop_ids', '"7"', false],
    ['customers', 'shop_ids[3]', '7.5', true],
    ['customers', 'shop_ids[3]', '"ann@example.com"', false],
    ['customers', 'marketing_ok', '7', false],
    ['customers', 'phones[0].country_code', '["1"]', false],
    ['customers', 'phones[0].number', '"5"', false],
    ['customers', 'loyalty', '5', false],
    ['customers', 'integrator_tags[2].name', '{"x":5}', false],
    ['customers', 'integrator_tags[2].unknown', '5', false],
    ['repair_orders', 'due_in_at', '"2026-02-30T10:00:00Z"', true],
    ['repair_orders', 'due_in_at', '"2026-02-03"', true],
    ['repair_orders', 'due_in_at', '"2026-02-03, says Ann"', false],
    ['repair_orders', 'due_in_at', '6155550100', false],
    ['repair_orders', 'services[0].parts', '"none"', false],
    ['repair_orders', 'services[0].parts[1]', '{"brand":"Ann"}', false],
    ['repair_orders', 'services[0].parts[1].cost_cents', '12.5', true],
    ['repair_orders', 'services[0].parts[1].cost_cents', '"12.5"', false],
    ['repair_orders', 'services[0].parts[1].cost_cents', '1'.repeat(41), false],
    // Undeclared fields of these are kept.
    ['inventories', 'brand', '{"x":5}', true],
    ['inventories', 'integrator_tags[0].name', '{"x":5}', true],
  ])('%s: in quarantine, of a value at "%s", %s is kept: %s', (resource, path, value, isKept) => {
    const entry = { recordId: '5', path, value, reason: 'not a text' }
    expect(places(resource).entry(entry)).toEqual(
      isKept ? entry : { ...entry, value: null, reason: 'not a text (hidden by privacy)' },
    )
  })
})
