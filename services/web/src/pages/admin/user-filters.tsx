import { Field, SelectField } from '../../components/field.tsx'

export type UserFilter = {
  q: string
  role: 'any' | 'admin' | 'user'
  sort: 'username' | '-createdAt' | 'createdAt'
  showDeleted: boolean
}

export const noFilter: UserFilter = { q: '', role: 'any', sort: '-createdAt', showDeleted: false }

const roles = [
  ['any', 'All roles'],
  ['admin', 'Admins'],
  ['user', 'Users'],
] as const

const sortOrders = [
  ['-createdAt', 'Newest first'],
  ['createdAt', 'Oldest first'],
  ['username', 'Username'],
] as const

export function UserFilters({ filter, onChange }: { filter: UserFilter; onChange: (filter: UserFilter) => void }) {
  return (
    <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <Field
        label="Search"
        type="search"
        placeholder="Name or username"
        autoComplete="off"
        value={filter.q}
        onChange={(event) => onChange({ ...filter, q: event.target.value })}
      />
      <SelectField label="Role" value={filter.role} options={roles} onPick={(role) => onChange({ ...filter, role })} />
      <SelectField
        label="Sort by"
        value={filter.sort}
        options={sortOrders}
        onPick={(sort) => onChange({ ...filter, sort })}
      />
      <label className="checkbox">
        <input
          type="checkbox"
          checked={filter.showDeleted}
          onChange={(event) => onChange({ ...filter, showDeleted: event.target.checked })}
        />
        Show deleted
      </label>
    </form>
  )
}
