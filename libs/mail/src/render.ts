import { inOneLine, type MailLanguage } from '@gatehouse/contracts'
import type { MailData } from '@gatehouse/domain'
import { linkPaths, texts, type MailKind } from './texts.ts'

type Written = { subject: string; text: string; html: string }
type MailInput = {
  kind: MailKind
  language: MailLanguage
  data: MailData
  instance: string
  origin: string
  /** Of the link, behind the `#`. */
  token?: string
}

/** Others need no advice, or were done by an admin. */
const unalarming: readonly MailKind[] = ['confirmation', 'recovery', 'suspended', 'deleted', 'password_reset', 'test']

/** Text and HTML say the same. All links lead to this instance, and nothing is loaded. Contract: 3, Mail. */
export function renderMail({ kind, language, data, instance, origin, token }: MailInput): Written {
  const words = texts[language]
  const facts = factsOf(language, { ...data, instance })
  const fill = (line: string) => line.replace(/\{(\w+)\}/g, (_, name: string) => facts[name] ?? '')
  const [subject, ...lines] = words[kind]
  const path = kind === 'confirmation' || kind === 'recovery' ? linkPaths[kind] : undefined
  const link = path
    ? { url: `${origin}${path}${token}`, label: lines.pop() ?? '' }
    : { url: origin, label: words.open[0] }
  // Without a fact its line is left out.
  const shownLines = lines.filter((line) => [...line.matchAll(/\{(\w+)\}/g)].every(([, name = '']) => facts[name]))
  const body = [...shownLines, ...(unalarming.includes(kind) ? [] : words.alarm)].map(fill)
  const footer = fill(words.reason[0])
  const label = fill(link.label)
  return {
    subject: `${facts['instance']}: ${fill(subject)}`,
    text: [...body, `${label}:\n${link.url}`, `-- \n${footer}`].join('\n\n') + '\n',
    html: htmlOf({ language, title: fill(subject), body, link: { url: link.url, label }, footer }),
  }
}

/** Each in one line, without marks that turn a line. */
function factsOf(language: MailLanguage, { at, ...data }: MailData): Record<string, string> {
  const format = { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' } as const
  const time = at == null ? '' : `${new Intl.DateTimeFormat(language, format).format(new Date(at))} UTC`
  const entries = Object.entries(data).map(([name, value]) => [
    name,
    inOneLine(String(value ?? '')).replace(/\p{Cc}/gu, ' '),
  ])
  return { ...(Object.fromEntries(entries) as Record<string, string>), at: time }
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escape = (text: string): string => text.replace(/[&<>"]/g, (character) => entities[character] ?? '')

/** Colors of the web app. */
const style = `:root{color-scheme:light dark}
body{margin:0;padding:24px;background:#fff;color:#14201e;font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
main{max-width:32rem;margin:0 auto}
h1{font-size:20px}
a{color:#0b6659}
small{color:#4a5956}
@media (prefers-color-scheme:dark){body{background:#172023;color:#e9efed}a{color:#62d2ba}small{color:#a6b5b1}}`

type Page = { language: string; title: string; body: string[]; link: { url: string; label: string }; footer: string }

function htmlOf({ language, title, body, link, footer }: Page): string {
  const paragraphs = body.map((line) => `<p>${escape(line)}</p>`).join('\n')
  const url = escape(link.url)
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${escape(title)}</title>
<style>${style}</style>
</head>
<body><main>
<h1>${escape(title)}</h1>
${paragraphs}
<p><a href="${url}">${escape(link.label)}</a></p>
<p><small>${escape(footer)}</small></p>
</main></body>
</html>
`
}
