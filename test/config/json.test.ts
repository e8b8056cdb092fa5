import { expect, test } from 'vitest'
import { JsonError, parseDocument, toJson } from '../../src/config/json.js'
import { nearest } from '../../src/config/nearest.js'

test.each([
  '{"a":[1,-2.5,1e3,true,false,null,"x\\u0041\\n"],"b":{}}',
  ' [ ] ',
  '"\\"\\\\/"',
  '-0.5E-2',
  '{"__proto__":{"x":1}}',
])('%s is read as JSON.parse reads it', (text) => {
  expect(parseDocument(text).value).toEqual(JSON.parse(text))
})

test.each([
  '{',
  '[1,]',
  '{"a" 1}',
  "{'a':1}",
  '01',
  '+1',
  '1.',
  '.5',
  'tru',
  'nullx',
  '"\t"',
  '"\\x"',
  '[1 2]',
  '{} {}',
  '{"a":}',
  'NaN',
])('%s is refused, as JSON.parse refuses it', (text) => {
  expect(() => JSON.parse(text)).toThrow()
  expect(() => parseDocument(text)).toThrow(JsonError)
})

test('64-bit integers go in and out exactly', () => {
  const text = '{"id":9007199254740993,"small":-5,"list":[18446744073709551615]}'
  const { value } = parseDocument(text)
  expect(value).toEqual({ id: 9007199254740993n, small: -5, list: [18446744073709551615n] })
  expect(toJson(value)).toBe(text)
})

test('knows the line of every value', () => {
  const { lines } = parseDocument('{\n"a": {\n"b": [1,\n2]}}')
  expect(Object.fromEntries(lines)).toEqual({ '': 1, a: 2, 'a.b': 3, 'a.b[0]': 3, 'a.b[1]': 4 })
})

test('a byte order mark does no harm', () => {
  expect(parseDocument('\uFEFF{}').value).toEqual({})
})

test.each([
  ['statsu', 'status'],
  ['base_url', 'baseUrl'],
  ['qqqq', undefined],
])('nearest to %s is %s', (word, expected) => {
  expect(nearest(word, ['status', 'sync', 'baseUrl'])).toBe(expected)
})
