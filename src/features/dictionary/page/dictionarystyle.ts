/** The page's style: light and dark by the reader's setting, one column on a phone, black on white in print. */
export const dictionaryStyle = `
:root { color-scheme: light dark; --paper: light-dark(#fff, #13161a); --soft: light-dark(#f4f6f8, #1b1f25);
  --line: light-dark(#dce1e7, #333a44); --ink: light-dark(#1b2129, #e4e8ed); --dim: light-dark(#586472, #9aa6b3);
  --link: light-dark(#0a559f, #85bdf8); --hit: light-dark(#fff0b3, #5a4a10);
  --warm: light-dark(#b4530a, #f0a35e); --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace }
* { box-sizing: border-box }
html { scroll-padding-top: 4.5rem }
body { margin: 0; font: 15px/1.55 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; color: var(--ink); background: var(--paper) }
a { color: var(--link); text-decoration: none } a:hover { text-decoration: underline }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 3px }
code, pre { font: .9em/1.5 var(--mono) } small { font-size: .84em } .dim, small { color: var(--dim) }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
.skip { position: absolute; left: -99rem; background: var(--paper); padding: .4rem .8rem; z-index: 3 } .skip:focus { left: .5rem; top: .5rem }
header { position: sticky; top: 0; z-index: 2; display: flex; gap: .6rem 1.2rem; align-items: center; padding: .6rem 1.5rem;
  background: var(--paper); border-bottom: 1px solid var(--line) }
header strong { font-size: 1.05rem; white-space: nowrap } header strong a { color: inherit } header form { flex: 0 1 34rem; display: flex; align-items: center }
input, button { font: inherit; color: inherit; background: var(--soft); border: 1px solid var(--line); border-radius: 6px }
input { width: 100%; min-width: 0; padding: .35rem .7rem } button { padding: .3rem .7rem; cursor: pointer }
#search-count:not(:empty) { padding-left: .8rem } #search-count { color: var(--dim); font-size: 13px; white-space: nowrap } #menu { display: none }
.frame { display: grid; grid-template-columns: 17.5rem minmax(0, 1fr) }
nav { position: sticky; top: 3.4rem; height: calc(100vh - 3.4rem); overflow: auto; padding: .2rem 1rem 2rem 1.5rem;
  border-right: 1px solid var(--line); font-size: 13px }
nav h2 { font-size: 12px; margin: 1.1rem 0 .3rem; color: var(--dim); font-weight: 600 }
nav ul { list-style: none; margin: 0; padding: 0 } nav a { display: block; padding: .12rem .4rem; border-radius: 4px; overflow-wrap: anywhere }
nav a[aria-current] { background: var(--soft); font-weight: 600 }
main { padding: 1.5rem 2.2rem 5rem; max-width: 84rem; min-width: 0 }
h1 { font-size: 1.75rem; line-height: 1.2; margin: .2rem 0 .8rem } main h2 { margin: 3.2rem 0 0; font-size: 1.35rem }
.js [data-part] > h2 { margin: 0; font-size: 1rem; color: var(--dim); font-weight: 600 } 
.js section.table { margin-top: .4rem; border: 0; padding-top: .6rem } .js .brief { margin-top: 1.2rem } .js section.table { scroll-margin-top: 20rem } .js section:not(.brief) > h3 { font-size: 1.5rem }
.index { display: grid; grid-template-columns: minmax(12rem, max-content) minmax(0, 1fr); gap: .3rem 1.4rem; margin: .8rem 0 0; max-width: 75rem } .index dd { margin: 0 }
.part-note { margin: .3rem 0 0; color: var(--dim) }
.legend { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1.2rem; margin: 1rem 0; max-width: 62rem }
.legend dt { font-weight: 600 } .legend dd { margin: 0 }
section.table { margin-top: 2rem; padding-top: 1.4rem; border-top: 1px solid var(--line) }
h3 { margin: 0; font: 600 1.1rem var(--mono); overflow-wrap: anywhere } h3 a { color: inherit }
.about { margin: .3rem 0 .6rem; max-width: 62rem }
.facts { margin: .6rem 0 1rem; font-size: 14px } .facts > div { display: grid; grid-template-columns: 7rem minmax(0, 1fr); padding: .1rem 0 }
.facts dt { color: var(--dim) } .facts dd { margin: 0 } .facts ul { list-style: none; margin: 0; padding: 0 }
.flow li { display: inline } .flow li:not(:last-child)::after { content: ', '; color: var(--dim) }
table { border-collapse: collapse; width: 100%; font-size: 14px }
th { text-align: left; font-weight: 400 } thead th { color: var(--dim); font-size: 12.5px }
th, td { padding: .38rem 1.1rem .38rem 0; vertical-align: top; border-bottom: 1px solid var(--line) }
tbody th { width: 16rem } .type { width: 13rem } .null { width: 7.5rem } .null.may { color: var(--dim) }
.type small { display: block } .more { display: block; color: var(--dim) } .more code { overflow-wrap: anywhere }
.badge { font-size: 11px; color: var(--warm); border: 1px solid currentColor; border-radius: 4px; padding: 0 .3rem; margin-left: .2rem }
tr:target > * { background: var(--hit) } ::highlight(hit) { background: var(--hit) }
.brief :is(.facts, .examples), .bare table { display: none }
.examples { margin-top: .8rem } summary { cursor: pointer; color: var(--link); width: max-content; font-size: 14px }
.sql { margin: .6rem 0 0; position: relative } .sql figcaption { font-size: 13px; color: var(--dim); margin-bottom: .2rem }
h4 { margin: 1.6rem 0 0; font-size: 1rem } .figure h3 { font-family: inherit }
pre { margin: 0; padding: .7rem .9rem; overflow-x: auto; background: var(--soft); border: 1px solid var(--line); border-radius: 6px; font-size: 13px }
.sql button { position: absolute; right: .5rem; top: 1.9rem; font-size: 12px; padding: .1rem .5rem; background: var(--paper) }
[hidden] { display: none !important }
@media (max-width: 60rem) {
  body { font-size: 16px } .frame { display: block } html { scroll-padding-top: 7.2rem }
  header { flex-wrap: wrap; padding: .5rem 1rem } header form { flex: 1 0 100%; order: 3 } header strong { margin-right: auto }
  .js #menu { display: block } nav { position: static; height: auto; border: 0; border-bottom: 1px solid var(--line); padding: 0 1rem 1rem; font-size: 15px }
  .js nav { position: fixed; inset: 6.4rem 0 0; z-index: 2; background: var(--paper) } .js nav:not(.open) { display: none } nav a { padding: .35rem .4rem } main { padding: 1rem 1rem 4rem } :is(.legend, .index) { grid-template-columns: 1fr; gap: 0 } :is(.legend, .index) dd { margin: 0 0 .6rem }
}
@media (max-width: 40rem) {
  .facts > div { grid-template-columns: 1fr; margin-bottom: .3rem }
  table, tbody, tr, tbody th, td { display: block; width: auto } thead { display: none }
  tr { padding: .6rem 0; border-bottom: 1px solid var(--line) } th, td { border: 0; padding: 0 }
  .type, .null { display: inline; color: var(--dim); font-size: 14px } .type small { display: inline }
  .null::before { content: ' · null: ' } .type small::before { content: '· ' } .meaning { margin-top: .15rem }
}
@media print {
  :root { color-scheme: light } header, nav, .js nav, .skip, .sql button { display: none } .frame { display: block } main { max-width: none; padding: 0 }
  body { font-size: 10pt } section.table { break-before: auto } tr, .sql, h3, .facts { break-inside: avoid } h2, h3, .about { break-after: avoid }
  pre { white-space: pre-wrap } a { color: inherit }
  table { font-size: 9pt } tbody th { width: 10rem } .type { width: 8rem } .null { width: 5.5rem } th, td { padding: .25rem .7rem .25rem 0 } pre { font-size: 8.5pt }
}
`
