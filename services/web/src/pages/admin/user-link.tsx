import { Link } from 'wouter'
import { UserName } from '../../components/avatar.tsx'

/** The page of a user, by its name. Without an id nothing is left to lead to. */
export function UserLink({ user: { id, username } }: { user: { id: string | null; username: string } }) {
  const name = <UserName>{username}</UserName>
  return id ? <Link href={`/admin/users/${id}`}>{name}</Link> : name
}
