SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.artifacts (
    run_id integer NOT NULL,
    name text NOT NULL,
    media_type text NOT NULL,
    sha256 character varying(64) NOT NULL,
    size integer NOT NULL,
    created_at double precision NOT NULL
);
CREATE TABLE public.batches (
    run_id integer NOT NULL,
    rank integer NOT NULL,
    batch integer NOT NULL
);
CREATE TABLE public.blobs (
    sha256 character varying(64) NOT NULL,
    data bytea NOT NULL
);
CREATE TABLE public.events (
    run_id integer NOT NULL,
    id bigint NOT NULL,
    name_id integer NOT NULL,
    rank integer NOT NULL,
    step bigint,
    "time" double precision NOT NULL,
    value double precision
);
CREATE TABLE public.identities (
    id integer NOT NULL,
    role character varying(20) NOT NULL,
    nickname text NOT NULL,
    token_hash character varying(128) NOT NULL,
    created_at double precision NOT NULL
);
CREATE SEQUENCE public.identities_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.identities_id_seq OWNED BY public.identities.id;
CREATE TABLE public.names (
    id integer NOT NULL,
    name text NOT NULL
);
CREATE SEQUENCE public.names_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.names_id_seq OWNED BY public.names.id;
CREATE TABLE public.runs (
    id integer NOT NULL,
    session_id integer NOT NULL,
    workload text NOT NULL,
    status character varying(20) NOT NULL,
    params text NOT NULL,
    placement text NOT NULL,
    submitted_by text NOT NULL,
    identity_id integer,
    measured boolean NOT NULL,
    rank_map text,
    machine text,
    metrics text NOT NULL,
    verdict text,
    error text,
    notices text NOT NULL,
    progress text,
    queued_at double precision NOT NULL,
    started_at double precision,
    finished_at double precision,
    cancel_requested boolean NOT NULL,
    events bigint NOT NULL
);
CREATE SEQUENCE public.runs_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.runs_id_seq OWNED BY public.runs.id;
CREATE TABLE public.sessions (
    id integer NOT NULL,
    name character varying(40) NOT NULL,
    state character varying(20) NOT NULL,
    message text NOT NULL,
    placement text NOT NULL,
    limits text NOT NULL,
    private boolean NOT NULL,
    machine text NOT NULL,
    rank_map text,
    conductor_pid integer,
    heartbeat_at double precision,
    created_at double precision NOT NULL,
    stop_requested boolean NOT NULL,
    reset_requested boolean NOT NULL,
    site text
);
CREATE SEQUENCE public.sessions_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.sessions_id_seq OWNED BY public.sessions.id;
CREATE TABLE public.settings (
    key character varying(100) NOT NULL,
    value text NOT NULL
);
CREATE TABLE public.spans (
    n bigint NOT NULL
);
CREATE TABLE public.studies (
    id integer NOT NULL,
    kind character varying(40) NOT NULL,
    workload text NOT NULL,
    description text NOT NULL,
    state character varying(20) NOT NULL,
    submitted_by text NOT NULL,
    runner character varying(40),
    heartbeat_at double precision,
    created_at double precision NOT NULL,
    finished_at double precision
);
CREATE SEQUENCE public.studies_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.studies_id_seq OWNED BY public.studies.id;
CREATE TABLE public.trials (
    study_id integer NOT NULL,
    number integer NOT NULL,
    label text NOT NULL,
    params text NOT NULL,
    placement text NOT NULL,
    repeat integer NOT NULL,
    run_id integer,
    error text
);
CREATE TABLE public.workshop_schema (
    version integer NOT NULL
);
CREATE SEQUENCE public.workshop_schema_version_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.workshop_schema_version_seq OWNED BY public.workshop_schema.version;
ALTER TABLE ONLY public.identities ALTER COLUMN id SET DEFAULT nextval('public.identities_id_seq'::regclass);
ALTER TABLE ONLY public.names ALTER COLUMN id SET DEFAULT nextval('public.names_id_seq'::regclass);
ALTER TABLE ONLY public.runs ALTER COLUMN id SET DEFAULT nextval('public.runs_id_seq'::regclass);
ALTER TABLE ONLY public.sessions ALTER COLUMN id SET DEFAULT nextval('public.sessions_id_seq'::regclass);
ALTER TABLE ONLY public.studies ALTER COLUMN id SET DEFAULT nextval('public.studies_id_seq'::regclass);
ALTER TABLE ONLY public.workshop_schema ALTER COLUMN version SET DEFAULT nextval('public.workshop_schema_version_seq'::regclass);
INSERT INTO public.runs VALUES (1, 1, 'kmeans', 'completed', '{"clusters": 4}', '{"ranks": 1}', '', NULL, false, NULL, NULL, '{"points_per_second": 5.5}', NULL, NULL, '[]', NULL, 1795284463.516538, 1795284463.52781, 1795284463.5436893, false, 0);
INSERT INTO public.sessions VALUES (1, 'class', 'stopped', '', '{"ranks": 2}', '{"ranks": 8, "threads": 8, "minutes": 10.0, "queued": 3}', false, '{}', NULL, NULL, 1795284463.4771764, 1795284463.4771764, false, false, NULL);
INSERT INTO public.studies VALUES (1, 'scaling', 'kmeans', '{"ranks": [1, 2]}', 'open', 'Ada', NULL, NULL, 1795284463.4926198, NULL);
INSERT INTO public.trials VALUES (1, 1, '1 rank', '{}', '{"ranks": 1}', 1, 1, NULL);
INSERT INTO public.trials VALUES (1, 2, '2 ranks', '{}', '{"ranks": 2}', 1, NULL, '{"type": "BadInput", "message": "no luck"}');
INSERT INTO public.workshop_schema VALUES (3);
SELECT pg_catalog.setval('public.identities_id_seq', 1, false);
SELECT pg_catalog.setval('public.names_id_seq', 1, false);
SELECT pg_catalog.setval('public.runs_id_seq', 1, true);
SELECT pg_catalog.setval('public.sessions_id_seq', 1, true);
SELECT pg_catalog.setval('public.studies_id_seq', 1, true);
SELECT pg_catalog.setval('public.workshop_schema_version_seq', 1, false);
ALTER TABLE ONLY public.artifacts
    ADD CONSTRAINT artifacts_pkey PRIMARY KEY (run_id, name);
ALTER TABLE ONLY public.batches
    ADD CONSTRAINT batches_pkey PRIMARY KEY (run_id, rank, batch);
ALTER TABLE ONLY public.blobs
    ADD CONSTRAINT blobs_pkey PRIMARY KEY (sha256);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (run_id, id);
ALTER TABLE ONLY public.identities
    ADD CONSTRAINT identities_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.identities
    ADD CONSTRAINT identities_token_hash_key UNIQUE (token_hash);
ALTER TABLE ONLY public.names
    ADD CONSTRAINT names_name_key UNIQUE (name);
ALTER TABLE ONLY public.names
    ADD CONSTRAINT names_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_name_key UNIQUE (name);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.settings
    ADD CONSTRAINT settings_pkey PRIMARY KEY (key);
ALTER TABLE ONLY public.spans
    ADD CONSTRAINT spans_pkey PRIMARY KEY (n);
ALTER TABLE ONLY public.studies
    ADD CONSTRAINT studies_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.trials
    ADD CONSTRAINT trials_pkey PRIMARY KEY (study_id, number);
ALTER TABLE ONLY public.workshop_schema
    ADD CONSTRAINT workshop_schema_pkey PRIMARY KEY (version);
CREATE INDEX events_of_name ON public.events USING btree (run_id, name_id, rank, step, "time", value);
CREATE INDEX ix_artifacts_sha256 ON public.artifacts USING btree (sha256);
CREATE INDEX ix_trials_run_id ON public.trials USING btree (run_id);
CREATE INDEX runs_of_session ON public.runs USING btree (session_id, status);
ALTER TABLE ONLY public.artifacts
    ADD CONSTRAINT artifacts_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.runs(id);
ALTER TABLE ONLY public.artifacts
    ADD CONSTRAINT artifacts_sha256_fkey FOREIGN KEY (sha256) REFERENCES public.blobs(sha256);
ALTER TABLE ONLY public.batches
    ADD CONSTRAINT batches_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.runs(id);
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.identities(id);
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.sessions(id);
ALTER TABLE ONLY public.trials
    ADD CONSTRAINT trials_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.runs(id);
ALTER TABLE ONLY public.trials
    ADD CONSTRAINT trials_study_id_fkey FOREIGN KEY (study_id) REFERENCES public.studies(id);
INSERT INTO public.spans SELECT generate_series(0, 1999);
