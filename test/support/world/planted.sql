do $plant$
declare
  one record;
  body text := $f$ language plpgsql as $b$ begin
    perform pg_catalog.nextval('public.planted_calls'); raise exception 'planted'; end $b$ $f$;
  -- What exact overloads take where Postgres's own takes any type.
  types text[] := array['text', 'int8', 'int4', 'numeric', 'bool', 'timestamptz', 'date', 'jsonb', 'oid', 'name'];
begin
  for one in
    select proname as name, pg_get_function_identity_arguments(oid) as args, proretset,
      format_type(prorettype, null) as result
    from (select *, array(select t.typname from unnest(proargtypes::oid[]) a join pg_type t on t.oid = a) as takes
      from pg_proc where pronamespace = 'pg_catalog'::regnamespace and prokind in ('f', 'a', 'w')) p
    where not takes && array['internal', 'cstring', 'any']::name[] and proargtypes::text is not null
      and (select typname from pg_type where oid = prorettype) not in ('internal', 'cstring', 'any')
  loop
    begin
      execute format('create function public.%I(%s) returns %s%s %s', one.name, replace(one.args, ' ORDER BY ', ', '),
        case when one.proretset then 'setof ' else '' end, one.result, body);
    exception when others then null;
    end;
  end loop;
  for one in
    select n as name, args from unnest(array['concat_ws', 'concat', 'format', 'jsonb_build_object']) n, (
      select format('%s, %s%s', a, b, c) as args from unnest(types) a, unnest(types) b, unnest(array['', ', ' || b]) c
      union values ('text, numeric, oid, oid')) exact
  loop
    begin
      execute format('create function public.%I(%s) returns text %s', one.name, one.args, body);
    exception when others then null;
    end;
  end loop;
  for one in
    select oprname as name, format_type(oprleft, null) as l, format_type(oprright, null) as r, oprleft = 0 as is_prefix,
      format_type(oprresult, null) as result, oid::text as id
    from pg_operator where oprnamespace = 'pg_catalog'::regnamespace
    union all
    select '||', l, r, false, 'text', l || '_' || r from unnest(types) l, unnest(types) r where (l = 'text') <> (r = 'text')
  loop
    begin
      execute format('create function public.%I(%s) returns %s %s', 'planted_' || one.id,
        case when one.is_prefix then one.r else one.l || ', ' || one.r end, one.result, body);
      execute format('create operator public.%s (%s rightarg = %s, function = public.%I)', one.name,
        case when one.is_prefix then '' else format('leftarg = %s,', one.l) end, one.r, 'planted_' || one.id);
    exception when others then null;
    end;
  end loop;
  execute 'create function public.planted() returns boolean ' || body;
  for one in
    select relname as name from pg_class c where relkind in ('r', 'v')
      and (relnamespace = 'pg_catalog'::regnamespace or relnamespace = to_regnamespace('shopsync'))
  loop
    execute format('create view public.%I as select public.planted()', one.name);
  end loop;
  for one in
    select typname as name, format_type(oid, null) as type from pg_type t
    where typnamespace = 'pg_catalog'::regnamespace and typtype in ('b', 'e', 'r') and typelem = 0 and typisdefined
  loop
    begin
      execute format('create domain public.%I as %s check (public.planted())', one.name, one.type);
    exception when others then null;
    end;
  end loop;
  for one in
    select oid::regprocedure as name from pg_proc
    where pronamespace = 'pg_catalog'::regnamespace and proname like '%advisory%lock%'
  loop
    execute format('revoke execute on function %s from public', one.name);
  end loop;
end $plant$
