import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import { Button } from '../../components/button.tsx'
import { QueryError } from '../../components/error-message.tsx'
import { Checkbox, Field, SelectField } from '../../components/field.tsx'
import type { IconName } from '../../components/icon.tsx'
import { EmptyState, Skeleton } from '../../components/status.tsx'
import { useQuery } from '../../hooks.ts'
import { type Text, t } from '../../language/language.ts'

/** The first option is the preset; the address leaves it out. The value of a flag is `true`. */
export type Filter = { name: string; label: Text } & (
  | { type: 'text'; placeholder?: Text }
  | { type: 'date' }
  | { type: 'flag' }
  | { type: 'select' | 'toggle'; options: ReadonlyArray<readonly [value: string, name: string]> }
)

type TextFilter = Filter & { type: 'text' }

type Values = Readonly<Record<string, string>>
type Page<T> = { items: T[]; nextCursor: string | null; count?: string }
type Listed<T> = { items: T[]; refetch: () => void; query: Values }

type Props<T> = {
  title: string
  filters?: readonly Filter[]
  /** `query`: the filters that are set, and `cursor`. */
  fetchPage: (query: Values, signal: AbortSignal) => Promise<Page<T>>
  watched?: Parameters<typeof useQuery>[2]
  empty: (query: Values) => string
  icon?: IconName
  className?: string
  toolbar?: (listed: Listed<T>) => ReactNode
  children: (item: T, refetch: () => void) => ReactNode
}

const debounceMs = 250

/** A page of a list. Its filters and where it begins stand in the address, so that Back, a reload and a link keep them. */
export function AdminList<T>(props: Props<T>) {
  const { title, filters = [], fetchPage, icon = 'info', className = '', children } = props
  const address = useListAddress(filters)
  const { query: asked, isTurned } = address
  const key = JSON.stringify([title, asked])
  const query = useQuery(key, async (signal) => ({ key, ...(await fetchPage(asked, signal)) }), props.watched)
  const top = useRef<HTMLDivElement>(null)
  // The rows of the page before stay until there is an answer; after a failure they would belong to another address.
  const isOld = query.data?.key !== key
  const page = isOld && query.error ? null : query.data
  const toTop = () => {
    top.current?.scrollIntoView({ block: 'start' })
    top.current?.focus({ preventScroll: true })
  }
  const turn = (cursor: string | null) => {
    address.turnTo(cursor)
    toTop()
  }
  const goBack = () => {
    history.back()
    toTop()
  }
  return (
    <section className="stack" aria-label={title}>
      <h2 className="visually-hidden">{title}</h2>
      <Filters filters={filters} values={asked} onChange={address.filter} />
      <div ref={top} className="toolbar" tabIndex={-1} role="group" aria-label={title}>
        <p className="small muted" role="status">
          {query.loading && (isOld || !page) ? t('Loading…') : page?.count}
        </p>
        {props.toolbar?.({ items: page?.items ?? [], refetch: query.refetch, query: asked })}
      </div>
      <QueryError query={query} />
      {!page && query.loading && <Skeleton rows={6} />}
      {page?.items.length === 0 && <EmptyState icon={icon}>{props.empty(asked)}</EmptyState>}
      {page && page.items.length > 0 && (
        <ul className={`card list ${className}`} aria-busy={isOld}>
          {page.items.map((item) => children(item, query.refetch))}
        </ul>
      )}
      {(asked['cursor'] ?? page?.nextCursor) && (
        <nav className="pager" aria-label={t('Pagination')}>
          {asked['cursor'] && (
            <Button size="small" onClick={() => (isTurned ? goBack() : turn(null))}>
              {isTurned ? t('Previous') : t('First page')}
            </Button>
          )}
          {page?.nextCursor && (
            <Button size="small" busy={isOld} onClick={() => turn(page.nextCursor)}>
              {t('Next')}
            </Button>
          )}
        </nav>
      )}
    </section>
  )
}

/** `isTurned`: the entry before in the browser's history is the page before. */
function useListAddress(filters: readonly Filter[]) {
  const [pathname, navigate] = useLocation()
  const search = new URLSearchParams(useSearch())
  const names = [...filters.map(({ name }) => name), 'cursor']
  const set = names.flatMap((name) => {
    const value = search.get(name)
    return value ? [[name, value] as const] : []
  })
  const query: Values = Object.fromEntries(set)
  const go = (changed: Values, options?: { replace?: boolean; state?: unknown }) => {
    const next = new URLSearchParams(location.search)
    for (const [name, value] of Object.entries({ cursor: '', ...changed })) {
      if (value) next.set(name, value)
      else next.delete(name)
    }
    navigate(next.size > 0 ? `${pathname}?${next}` : pathname, options)
  }
  return {
    query,
    isTurned: (history.state as { isTurned?: boolean } | null)?.isTurned === true,
    filter: go,
    turnTo: (cursor: string | null) => go({ cursor: cursor ?? '' }, { state: { isTurned: cursor !== null } }),
  }
}

type FiltersProps = {
  filters: readonly Filter[]
  values: Values
  onChange: (changed: Values, options?: { replace: boolean }) => void
}

/** On phones all but the first are folded. */
function Filters({ filters, values, onChange }: FiltersProps) {
  const [isOpen, setOpen] = useState(false)
  const [first, ...more] = filters
  if (!first) return null
  const set = more.filter(({ name }) => values[name])
  const input = (filter: Filter) => (
    <FilterInput key={filter.name} filter={filter} value={values[filter.name] ?? ''} onChange={onChange} />
  )
  return (
    <form className="filters" role="search" data-open={isOpen} onSubmit={(event) => event.preventDefault()}>
      {input(first)}
      {more.length > 0 && (
        <Button className="filters__toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {set.length > 0 ? t('Filters: {count}', { count: set.length }) : t('Filters')}
        </Button>
      )}
      {more.map(input)}
    </form>
  )
}

type InputProps = { filter: Filter; value: string; onChange: FiltersProps['onChange'] }

function FilterInput({ filter, value, onChange }: InputProps) {
  const { name } = filter
  const label = t(filter.label)
  const pick = (picked: string) => onChange({ [name]: picked })
  if (filter.type === 'text') return <TextInput filter={filter} value={value} onChange={onChange} />
  if (filter.type === 'flag') {
    return <Checkbox label={label} name={name} checked={value === 'true'} onChange={(on) => pick(on ? 'true' : '')} />
  }
  if (filter.type === 'date') {
    return <Field label={label} name={name} type="date" autoComplete="off" value={value} onText={pick} />
  }
  if (filter.type === 'select') {
    return <SelectField label={label} name={name} value={value} options={filter.options} onPick={pick} />
  }
  return (
    <div className="button-row" role="group" aria-label={label}>
      {filter.options.map(([option, text]) => (
        <Button
          key={option}
          size="small"
          className="toggle"
          aria-pressed={option === value}
          onClick={() => pick(option)}
        >
          {text}
        </Button>
      ))}
    </div>
  )
}

/** Not every key press changes the address. */
function TextInput({ filter, value, onChange }: InputProps & { filter: TextFilter }) {
  const [typed, setTyped] = useState(value)
  useEffect(() => setTyped(value), [value])
  useEffect(() => {
    const text = typed.trim()
    if (text === value) return
    const timer = setTimeout(() => onChange({ [filter.name]: text }, { replace: true }), debounceMs)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <Field
      label={t(filter.label)}
      name={filter.name}
      type="search"
      placeholder={filter.placeholder && t(filter.placeholder)}
      autoComplete="off"
      value={typed}
      onText={setTyped}
    />
  )
}
