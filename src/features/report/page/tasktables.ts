/* The lists of what somebody has to act on: each folds, and shows only columns that have something in them. */
import { contactColumns } from '../../../../schema/views/dim_customers.js'
import { count, plural } from '../../../engine/base/format.js'
import type { ReportScope } from '../data.js'
import { moneyText, unknownMark } from '../numberwords.js'
import { type Task, type TaskList, taskWords } from '../tasklist.js'
import { copyButtons, type Html, html, type Piece } from './figure.js'

interface Column {
  readonly title: string
  readonly isText: boolean
  /** null: nothing to show. */
  of(task: Task): string | null
  /** The number to copy, if the text is rounded. */
  value?(task: Task): string
}

const words = (title: string, of: Column['of']): Column => ({ title, of, isText: true })

const columnsOf = (list: TaskList): readonly Column[] =>
  [
    words('shop', ({ shop }) => shop),
    words('time', ({ time }) => time),
    words('customer', ({ customer }) => customer),
    ...contactColumns.map((name, i) => words(name, ({ contacts }) => contacts[i] ?? null)),
    words('what', ({ title }) => title),
    words('advisor', ({ advisor }) => advisor),
    words('technician', ({ technician }) => technician),
    words('status', ({ status }) => status),
    {
      title: taskWords[list.id].days,
      isText: false,
      of: ({ days }: Task) => (days === null ? null : count(days)),
    },
    {
      title: 'amount',
      isText: false,
      of: ({ cents }: Task) => (cents === null ? null : moneyText(cents)),
      value: ({ cents }: Task) => (cents === null ? '' : (cents / 100).toFixed(2)),
    },
  ].filter(({ of }) => list.tasks.some((task) => of(task) !== null))

function cellHtml(column: Column, task: Task): Html {
  const text = column.of(task) ?? unknownMark
  const value = column.value?.(task)
  return html`<td${column.isText ? html` class="text"` : null}${value === undefined ? null : html` data-value="${value}"`}>${text}</td>`
}

/** `12 orders`, and how many of them are below if not all. */
function amountShown({ id, count: all, apart, tasks }: TaskList): string {
  const { noun, first } = taskWords[id]
  const isDone = id === 'pick-ups' && apart > 0 ? `, ${count(apart)} of them picked up` : ''
  const due = id === 'pick-ups' ? all - apart : all
  const some = tasks.length < due ? `; the first ${count(tasks.length)} below, ${first}` : ''
  return `${plural(all, noun)}${isDone}${some}`
}

function listHtml(list: TaskList, scope: ReportScope): Html {
  const { title } = taskWords[list.id]
  const columns = columnsOf(list).filter((column) => column.title !== 'shop' || scope.shops > 1)
  const name = list.id.replaceAll(' ', '-')
  return html`<details class="panel wide table tasks" id="${scope.id}-${name}"><summary><b>${title}</b> <span>${amountShown(list)}</span></summary>
<div class="scroll" tabindex="0" role="region" aria-label="${title}"><table class="stack"><thead><tr><th scope="col">order</th>${columns.map(({ title, isText }) => html`<th scope="col"${isText ? html` class="text"` : null}>${title}</th>`)}</tr></thead>
<tbody>${list.tasks.map((task) => html`<tr><th scope="row">${task.order ?? unknownMark}</th>${columns.map((column) => cellHtml(column, task))}</tr>`)}</tbody></table></div>
${copyButtons(name, title)}</details>`
}

export const tasksHtml = (scope: ReportScope): Piece => {
  const lists = scope.tasks.filter(({ tasks }) => tasks.length > 0)
  if (lists.length === 0) return null
  return html`<details class="part" open><summary><h2>Lists to act on</h2></summary><div class="grid lists">${lists.map((list) => listHtml(list, scope))}</div></details>`
}
