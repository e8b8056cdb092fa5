/** The demo, whose answer is in files. What other commands answer: test/transcripts. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { inFile } from '../support/harness/databases.js'
import { scratch } from '../support/harness/scratch.js'
import { isWhole } from '../support/harness/size.js'
import { atTerminal } from '../support/harness/terminal.js'

// `.ci/run` runs it each time.
test.runIf(isWhole())('demo fills a warehouse twice and answers four questions', async () => {
  const folder = scratch()
  const { code, lines } = await atTerminal(['demo'], { cwd: folder, columns: 60 })
  expect(code).toBe(0)
  const stdout = lines.join('\n')
  // What is pasted from a terminal has to stay on its line.
  expect(stdout).toMatch(/^ {2}sqlite3 .* group by month"\n {2}node -p ".*\.all\(\)"$/m)
  expect(stdout).toMatch(/^ +first sync +second sync$/m)
  const titles = ['What needs attention today?', 'How was last month?', 'Can I trust it?', 'The report']
  const places = titles.map((title) => stdout.indexOf(`── ${title} ─`))
  expect(places).toEqual([...places].sort((a, b) => a - b))
  expect(places[0]).toBeGreaterThan(0)
  expect(stdout).toContain('demo/report.html')
  expect(existsSync(join(folder, 'demo/warehouse.db-wal'))).toBe(false)
  // The terminal, the page and the view show the same number.
  const [, name = '', sales = ''] = /^(\w+ \d{4}): \$([\d,]+) of sales/m.exec(stdout) ?? []
  const month = new Date(`1 ${name} UTC`).toISOString().slice(0, 7)
  const asked = 'select sum(sales_cents) from shop_months where month = ?'
  const sum = inFile(join(folder, 'demo/warehouse.db'), (db) => db.prepare(asked).pluck().get(month))
  expect(Math.round(Number(sum) / 100)).toBe(Number(sales.replaceAll(',', '')))
  expect(readFileSync(join(folder, 'demo/report.html'), 'utf8')).toContain(`$${sales}`)
})
