import type { ChartColor } from '../chart.js'

/*
 * The page's style. Every color is a variable with a value for light and one for dark; the drawings use the variables'
 * names, so they follow. The series' colors also differ in lightness, for color-blind people and for printers.
 */

type Pair = readonly [light: string, dark: string]

const chartColors: Readonly<Record<ChartColor, Pair>> = {
  blue: ['#1f5d96', '#6fa8dc'],
  orange: ['#d9730d', '#f2a154'],
  green: ['#1b8a6b', '#4fc3a1'],
  purple: ['#7a4f9e', '#b996d8'],
  sky: ['#7fb3d9', '#3f74a3'],
  grey: ['#a9afb7', '#6b737d'],
  rust: ['#a63d2f', '#e0796a'],
  gold: ['#c9a227', '#d9bd5b'],
  pink: ['#cf8fb3', '#a8678b'],
  step1: ['#cfe1f0', '#d3e6f5'],
  step2: ['#9dc3e0', '#a3c8e6'],
  step3: ['#649fcb', '#73a6d2'],
  step4: ['#3274a8', '#4a83b5'],
  step5: ['#154468', '#2f6391'],
}

const pageColors: Readonly<Record<string, Pair>> = {
  ground: ['#f5f4f1', '#121417'],
  paper: ['#ffffff', '#1b1e22'],
  ink: ['#1c2127', '#e8eaed'],
  muted: ['#5a636e', '#a0a8b2'],
  rule: ['#e5e3de', '#31363d'],
  link: ['#1f5d96', '#8abaf0'],
  good: ['#17775b', '#5acba8'],
  watch: ['#8a5a00', '#e9b44c'],
  bad: ['#a63d2f', '#f08a7a'],
  bar: ['#cfe1f0', '#29435a'],
}

const names = Object.keys(chartColors)

const variables = (which: 0 | 1): string =>
  [...Object.entries(pageColors), ...Object.entries(chartColors)]
    .map(([name, pair]) => `--${name}:${pair[which]}`)
    .join(';')

/** Bars and points in each color (draw/option.ts). */
const marks = names
  .map(
    (name) =>
      `.k-${name} { fill: var(--${name}); stroke: var(--paper); stroke-width: .5 } .d-${name} { fill: var(--${name}); stroke: var(--${name}) }`,
  )
  .join(' ')

/** Stripes in each color, for incomplete values: the drawings refer to them. */
export const hatchPatterns = `<svg width="0" height="0" aria-hidden="true" style="position:absolute"><defs>${names
  .map(
    (name) =>
      `<pattern id="hatch-${name}" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" fill="var(--paper)"/><rect width="2.5" height="6" fill="var(--${name})"/></pattern>`,
  )
  .join('')}</defs></svg>`

export const pageStyle = `
:root { color-scheme: light dark; ${variables(0)} }
@media (prefers-color-scheme: dark) { :root { ${variables(1)} } }
* { box-sizing: border-box }
[hidden] { display: none !important }
html { -webkit-text-size-adjust: 100% }
body { margin: 0 auto; max-width: 1256px; padding: 0 28px 56px; background: var(--ground); color: var(--ink);
  font: 15px/1.5 Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  font-variant-numeric: tabular-nums }
h1, h2, h3, p, dl, dd, ul, figure { margin: 0; padding: 0 }
h1 { font-size: 26px; line-height: 1.2; font-weight: 650; letter-spacing: -.015em }
h2 { font-size: 19px; line-height: 1.3; font-weight: 650; letter-spacing: -.01em }
h3 { font-size: 15.5px; line-height: 1.35; font-weight: 600 }
small { font-size: 12px } code { font: .92em ui-monospace, SFMono-Regular, Menlo, monospace }
a, summary { color: var(--link) }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 4px }
.skip { position: absolute; left: -999px } .skip:focus { left: 12px; top: 12px; background: var(--paper); padding: 8px 12px; z-index: 3 }
header { display: flex; flex-wrap: wrap; gap: 12px 32px; align-items: end; justify-content: space-between; padding: 36px 0 22px }
header p { color: var(--muted); margin-top: 2px }
.wordy th:last-child, .wordy td:last-child { text-align: left; white-space: normal; padding-left: 28px }
/* A bar ends before the number begins. */
td.barred { position: relative; min-width: 13em } td.barred i { position: absolute; left: 14px; top: 7px; bottom: 7px; width: calc((100% - 14px - 6.6em) * var(--part)); background: var(--bar); border-radius: 3px }
td.barred span { position: relative } .ranking .copy { margin-top: 10px }
.choices { display: flex; flex-wrap: wrap; gap: 10px 22px } .choice, .search { color: var(--muted); font-size: 13px }
select, input { font: inherit; font-size: 15px; color: var(--ink); background: var(--paper); border: 1px solid var(--rule);
  border-radius: 8px; padding: 7px 10px; margin-left: 8px; max-width: 100% }
.scope-title { margin: 4px 0 12px; font-size: 16px; color: var(--muted); font-weight: 500 }
.panel { background: var(--paper); border: 1px solid var(--rule); border-radius: 12px; padding: 20px 22px }
/* Cards in a row share the heights of their parts, so that their dividers are on one line. */
.questions { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); column-gap: 16px }
.question { display: grid; grid-row: span 4; grid-template-rows: subgrid; row-gap: 0; margin-bottom: 16px; align-content: start }
.question .answer, .warning { display: flex; gap: 10px; line-height: 1.45 } .question .answer { margin: 10px 0 16px } .warning { margin-bottom: 16px }
.sign { flex: none; display: inline-grid; place-items: center; width: 20px; height: 20px; margin-top: 1px; border-radius: 50%;
  font: 700 12px/1 system-ui, sans-serif; font-style: normal; color: var(--paper); background: var(--good) }
.sign.watch { background: var(--watch) } .sign.bad { background: var(--bad) }
.question dl { display: grid; gap: 16px 20px; border-top: 1px solid var(--rule); padding-top: 16px; align-content: start; grid-template-columns: repeat(3, minmax(0, 1fr)) }
.question dt { color: var(--muted); font-size: 13px }
.question dd b { display: block; overflow-wrap: anywhere; font-size: 22px; line-height: 1.25; font-weight: 620; letter-spacing: -.01em }
.question dd span { display: block; color: var(--muted); font-size: 13px } .question dd .trend, .question dd .same { white-space: nowrap } .question dd .same { font-size: 12px; padding-left: 14px }
.trend i { font-style: normal; font-size: 9px; position: relative; top: -1px } .question dd .trend { color: var(--ink) }
.question dd .trend.down i { color: var(--bad) } .question dd .trend.up i { color: var(--good) } .trend small { color: var(--muted) }
details { margin-top: 14px; font-size: 14px } details + details { margin-top: 8px }
summary { cursor: pointer; width: fit-content; font-size: 13px } .remarks p { color: var(--muted); font-size: 13px; margin-top: 8px }
.part { margin-top: 40px; font-size: inherit } .part > summary { font-size: inherit; color: var(--ink); margin-bottom: 14px }
.part > summary h2 { display: inline }
.lists { row-gap: 8px } .tasks { margin: 0; padding: 12px 22px } .tasks + .tasks { margin-top: 0 } .tasks > summary { width: auto; font-size: 14px } .tasks > summary b { color: var(--ink); font-weight: 600 } .tasks > summary span { color: var(--muted); margin-left: 8px }
.more { display: none; color: var(--muted); font-size: 13px; margin-top: 10px } .js .more { display: block } .more button { margin-left: 8px } .js .cut tbody tr:nth-child(n+16) { display: none }
td.none { color: var(--muted); opacity: .55 } td.watch { color: var(--watch) }
.headline { font-size: 17px; margin: 0 0 16px }
nav { display: flex; gap: 6px 18px; flex-wrap: wrap; font-size: 14px }
.copy { display: none; gap: 8px; margin-top: 10px } .js .copy { display: flex }
button { font: inherit; font-size: 13px; color: var(--link); background: none; border: 1px solid var(--rule); border-radius: 8px;
  padding: 5px 10px; cursor: pointer } button:hover { border-color: var(--link) }
th small { display: block; color: var(--muted) } td.trouble { color: var(--bad) } td small { color: var(--muted) }
.compare { margin-top: 16px }
.grid { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); grid-auto-flow: dense; gap: 16px } .wide { grid-column: 1 / -1 }
.grid > * { min-width: 0 }
.finding { margin-top: 3px } .nothing { color: var(--muted); padding: 48px 0; text-align: center } section > .nothing { padding: 8px 0 0; text-align: left }
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; list-style: none; margin-top: 10px; font-size: 13px; color: var(--muted) }
.legend li { display: flex; align-items: center; gap: 6px } .legend i { width: 11px; height: 11px; border-radius: 2px; flex: none; background: var(--mark) }
.legend i.line { height: 3px; width: 16px; border-radius: 2px } .legend i.dashed { background: repeating-linear-gradient(90deg, var(--mark) 0 4px, transparent 4px 6px) }
.legend i.hatched { background: repeating-linear-gradient(45deg, var(--muted) 0 2px, var(--paper) 2px 4px) }
.plot { margin-top: 10px } .plot svg { display: none; width: 100%; height: auto; overflow: visible }
.plot .r { fill: none; stroke: var(--rule) } ${marks}
.plot text { fill: var(--muted); font-size: 12px; font-family: inherit; dominant-baseline: central } .plot .half, .plot .full { display: block }
figcaption, .caption { color: var(--muted); font-size: 13px; line-height: 1.5; margin-top: 10px; max-width: 92ch }
.scroll { overflow-x: auto; margin-top: 10px; container-type: inline-size } 
table { border-collapse: collapse; width: 100%; font-size: 13px }
th, td { padding: 6px 0 6px 14px; text-align: right; border-bottom: 1px solid var(--rule); white-space: nowrap; vertical-align: top }
th:first-child, td:first-child { padding-left: 0; text-align: left } th { font-weight: 500 } thead th { color: var(--muted); white-space: normal; vertical-align: bottom } thead th::first-letter { text-transform: uppercase }
th.text, td.text { text-align: left; white-space: normal; min-width: 7em } tbody tr:last-child > * { border-bottom: 0 }
td .sign { width: 16px; height: 16px; font-size: 10px; margin: 0; vertical-align: middle; position: relative; top: -1px }
.empty { padding: 64px 24px; text-align: center } .empty p { margin-top: 8px; color: var(--muted) }
footer { margin-top: 40px; color: var(--muted); font-size: 13px; max-width: 92ch }
.tip { position: fixed; z-index: 2; pointer-events: none; min-width: 150px; max-width: 300px; padding: 9px 12px; font-size: 13px;
  background: var(--paper); border: 1px solid var(--rule); border-radius: 8px; box-shadow: 0 6px 20px rgb(0 0 0 / .16) }
.tip div { display: flex; justify-content: space-between; gap: 18px; color: var(--muted) } .tip .here { color: var(--ink); font-weight: 600 }
@media (max-width: 1060px) { .questions, .grid { grid-template-columns: minmax(0, 1fr) }
  .plot svg { max-width: 680px } .plot .full { display: none } .plot .mid { display: block } }
@media (max-width: 640px) { .question dl { grid-template-columns: repeat(2, minmax(0, 1fr)) } .tasks { padding: 10px 16px } body { padding: 0 14px 40px } header { padding: 22px 2px 16px } .panel { padding: 16px }
  .plot .half, .plot .mid { display: none } .plot .narrow { display: block } .part { margin-top: 28px }
  .choices { width: 100% } .choice { flex: 1 1 100%; min-width: 0 } .choice select { display: block; margin: 4px 0 0; width: 100% } .search input { display: block; margin: 4px 0 0; width: 100% }
  .choice select, .search input, summary, button { min-height: 36px } summary { display: flex; align-items: center } summary::before { content: "▸"; margin-right: 7px } [open] > summary::before { content: "▾" } }
@container (max-width: 440px) {
  th, td { white-space: normal }
  .js .stack, .js .stack tbody, .js .stack tr, .js .stack th { display: block; text-align: left }
  .js .stack thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
  .js .stack tr { padding: 8px 0; border-bottom: 1px solid var(--rule) } .js .stack tbody tr:last-child { border-bottom: 0 }
  .js .stack tbody th { border: 0; padding: 0 0 2px; font-weight: 600; white-space: normal }
  .js .stack td { display: flex; justify-content: space-between; gap: 16px; padding: 2px 0; border: 0; white-space: normal; text-align: right; min-width: 0; overflow-wrap: anywhere }
  .js .stack td:has(span:empty) { display: none } .js .wordy td:last-child { padding-left: 0; text-align: right }
  .js .stack td.barred i { left: 0; width: calc(100% * var(--part)) } .js .stack td.barred::before { position: relative; z-index: 1 }
  .js .stack td::before { content: attr(data-label); color: var(--muted); text-align: left; flex: none; max-width: 55% } }
@media print { :root { color-scheme: light; ${variables(0)} } body { background: none; max-width: none; padding: 0; font-size: 12px }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact }
  .panel { break-inside: avoid; border-color: #ccc; padding: 12px 14px } .choice, .search, .skip, summary, .tip, .copy, .js .copy, nav { display: none }
  .part > summary { display: block; list-style: none; break-after: avoid } .part > summary::before { content: none } .part { margin-top: 20px }
  details:not([open], .tasks) { display: none } .tasks > summary { display: block } .scroll { overflow: visible } table { font-size: 11px }
  .question dl { grid-template-columns: repeat(3, minmax(0, 1fr)) } .question dd b { font-size: 17px }
  .grid { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 10px } .questions, .part > .panel { margin-bottom: 10px }
  .plot .half, .plot .full, .wide .plot .narrow { display: none } .plot .narrow, .wide .plot .mid { display: block } .plot svg { max-width: none }
  .ranking:has(.stack) { grid-column: 1 / -1 } td.barred { min-width: 6em } th, td { padding: 4px 0 4px 8px; white-space: normal }
  .more { display: none !important } .compare tbody tr:nth-child(n+41) { display: none } }
`
