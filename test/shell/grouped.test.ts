/** Cursors with the same problem share a line; different problems keep their own lines. Incidents: test/transcripts/quarantine.txt. */
import { expect, test } from 'vitest'
import { shortRequests } from '../../src/engine/base/format.js'
import { cursorNames, groupLines } from '../support/harness/shown.js'

const of = (tenant_id: number, resource: string, error: string) => ({ tenant_id, resource, error })
const errorIn = ({ error }: { error: string }): string => error
const url = (tenant: number, resource: string, page = 1): string =>
  `GET /api/v1/tenants/${tenant}/${resource}?updated_after=2026-01-01T00%3A00%3A00%2B12%3A00&page=${page}&per_page=100`
const waits = (request: string, span: string, until: string): string =>
  `Gave up because the API asks to wait (${request} answered 429, expected 200): it would have to wait ${span} (until ${until} UTC), expected at most 1 h. The next run looks again`

test.each([
  [`${url(7, 'notes', 3)} answered 500, expected 200`, 'GET notes, page 3 answered 500, expected 200'],
  [
    `Gave up: ${url(7, 'payments/customer_payment_types')}: no`,
    'Gave up: GET payments/customer_payment_types: no',
  ],
  ['GET /base/api/v1/partners/42/authorizations?page=2&per_page=100: 503', 'GET authorizations, page 2: 503'],
  ['nothing of the sort', 'nothing of the sort'],
])('a request is shown by its list and page: %s', (text, short) => {
  expect(shortRequests(text)).toBe(short)
})

test('a used-up limit is one line, however the waits differ, and a cursor that fails otherwise has its own', () => {
  const spent = [101, 102, 103].flatMap((tenant) =>
    ['shops', 'notes'].map((resource, i) =>
      of(tenant, resource, waits(url(tenant, resource), `${23 - i} h`, `2026-11-23 15:4${i}`)),
    ),
  )
  expect(groupLines([of(104, 'notes', `${url(104, 'notes', 2)} answered 403`), ...spent], errorIn)).toEqual([
    `tenants 101, 102, 103: notes, shops: ${waits('the request', '23 h', '2026-11-23 15:40')}`,
    'tenant 104, notes: GET notes, page 2 answered 403',
  ])
})

test('sentences with other numbers are not the same', () => {
  const books = (n: number): string => `13 records at the start, ${n} seen`
  expect(groupLines([of(1, 'a', books(10)), of(2, 'a', books(10)), of(3, 'a', books(9))], errorIn)).toEqual([
    'tenants 1, 2: a: 13 records at the start, 10 seen',
    'tenant 3, a: 13 records at the start, 9 seen',
  ])
})

test('names stay short, and each tenant and resource is named with its own', () => {
  expect(cursorNames([of(2, 'b', ''), of(1, 'a', ''), of(2, 'a', ''), of(3, 'a', '')])).toBe(
    'tenants 1, 3: a; tenant 2: a, b',
  )
  const many = Array.from({ length: 500 }, (_, i) => of(i + 1, 'a', ''))
  expect(cursorNames(many)).toBe('tenants 1, 2, 3, 4, 5, 6, 7, 8 and 492 more tenants: a')
  const wide = Array.from({ length: 21 }, (_, i) => of(7, String.fromCharCode(97 + i), ''))
  expect(cursorNames(wide)).toBe('tenant 7: a, b, c, d, e, f, g, h and 13 more resources')
})
