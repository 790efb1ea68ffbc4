import { Fragment, type ReactNode } from 'react'
import { type Text, translate } from './language.ts'

export function Phrase({ text, values = {} }: { text: Text; values?: Readonly<Record<string, ReactNode>> }) {
  return translate(text)
    .split(/\{(\w+)\}/)
    .map((part, index) => <Fragment key={index}>{index % 2 ? values[part] : part}</Fragment>)
}
