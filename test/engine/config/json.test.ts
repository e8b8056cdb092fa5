import { expect, test } from 'vitest'
import { toJson } from '../../../src/engine/base/printjson.js'
import { JsonError, parseDocument } from '../../../src/engine/config/configtext.js'
import { nearest } from '../../../src/engine/config/nearest.js'

test.each([
  '{"a":[1,-2.5,1e3,true,false,null,"x\\u0041\\n"],"b":{}}',
  ' [ ] ',
  '"\\"\\\\/"',
  '-0.5E-2',
  '{"__proto__":{"x":1}}',
])('reads %s like JSON.parse', (text) => {
  expect(parseDocument(text).value).toEqual(JSON.parse(text))
})

const broken = `{ [1,] {"a"_1} {'a':1} 01 +1 1. .5 tru nullx "\t" "\\x" [1_2] {}_{} {"a":} NaN`
test.each(broken.split(' ').map((text) => text.replace('_', ' ')))('rejects %s, like JSON.parse', (text) => {
  expect(() => JSON.parse(text)).toThrow()
  expect(() => parseDocument(text)).toThrow(JsonError)
})

test.each([
  ['', 1, 'found the end of the file, expected a value'],
  ['{', 2, 'found the end of the file, expected a key in double quotes'],
  ['{"a":[{"b":1}', 14, 'found the end of the file, expected a comma or ]'],
  ['{"a":1 "b":2}', 8, 'found "\\"", expected a comma or }'],
  ['{"a" 1}', 6, 'found "1", expected a colon'],
  ["{'a':1}", 2, 'found "\'", expected a key in double quotes'],
  ['{"a":1,"b"}', 11, 'found "}", expected a colon'],
  ['{"a":True}', 6, 'found "True", expected a value'],
  ['[1 2]', 4, 'found "2", expected a comma or ]'],
  ['[[1],]', 6, 'found a comma before ], expected none there'],
  ['{} {}', 4, 'found "{", expected the end of the file'],
  ['["a, {', 7, 'found a string without its closing quote, or with a line break or a lone \\ in it'],
  ['["a\nb"]', 2, 'found a string without its closing quote, or with a line break or a lone \\ in it'],
  ['/* a */ 1', 1, 'found a comment, which JSON does not have; remove it'],
  ['{"a":1,"b":[{"a":1,"a":2}]}', 20, 'the key "a" appears twice'],
])('reports where %s breaks, what is there and what should be', (text, column, message) => {
  expect(() => parseDocument(text)).toThrow(expect.objectContaining({ line: 1, column, message }))
})

test('reads and writes 64-bit integers exactly, after a byte order mark too', () => {
  const text = '{"id":9007199254740993,"small":-5,"list":[18446744073709551615]}'
  const { value } = parseDocument(`\uFEFF${text}`)
  expect(value).toEqual({ id: 9007199254740993n, small: -5, list: [18446744073709551615n] })
  expect(toJson(value)).toBe(text)
})

test('knows the line of every value', () => {
  const { lines } = parseDocument('{\n"a": {\n"b": [1,\n2]}}')
  expect(Object.fromEntries(lines)).toEqual({ '': 1, a: 2, 'a.b': 3, 'a.b[0]': 3, 'a.b[1]': 4 })
})

test.each([
  ['statsu', 'status'],
  ['base_url', 'baseUrl'],
  ['qqqq', undefined],
])('the nearest to %s is %s', (word, expected) => {
  expect(nearest(word, ['status', 'sync', 'baseUrl'])).toBe(expected)
})
